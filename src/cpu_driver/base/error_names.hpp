// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts between driver statuses and their names.

#include <cuda.h>

#include <optional>
#include <string_view>

namespace flotilla::cpu_driver {

/// Return the name or the description of a status, or null for an unknown status.
[[nodiscard]] char const* error_name(CUresult status) noexcept;
[[nodiscard]] char const* error_description(CUresult status) noexcept;

/// Finds a status by its name ("CUDA_ERROR_OUT_OF_MEMORY") or its number ("2").
[[nodiscard]] std::optional<CUresult> error_by_name(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
