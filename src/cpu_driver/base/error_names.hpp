#pragma once
// Statuses as words, both ways.

#include <cuda.h>

#include <optional>
#include <string_view>

namespace flotilla::cpu_driver {

/// Null for a number that is no status.
[[nodiscard]] char const* error_name(CUresult status) noexcept;
[[nodiscard]] char const* error_description(CUresult status) noexcept;

/// The status called so ("CUDA_ERROR_OUT_OF_MEMORY"), or of that number ("2").
[[nodiscard]] std::optional<CUresult> error_by_name(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
