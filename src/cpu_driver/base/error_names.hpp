#pragma once
// The names of statuses, in both directions.

#include <cuda.h>

#include <optional>
#include <string_view>

namespace flotilla::cpu_driver {

/// Null if the number is not a status.
[[nodiscard]] char const* error_name(CUresult status) noexcept;
[[nodiscard]] char const* error_description(CUresult status) noexcept;

/// The status with that name ("CUDA_ERROR_OUT_OF_MEMORY") or number ("2").
[[nodiscard]] std::optional<CUresult> error_by_name(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
