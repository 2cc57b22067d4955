#pragma once
// Attributes and settings that functions and kernels have in common. Attributes and preferences are
// numbers here, because the caller may have passed any number.

#include <cuda.h>

#include <flotilla/kernel_language/image_abi.hpp>

#include <cstddef>

namespace flotilla::cpu_driver {

struct function_settings;

[[nodiscard]] CUresult function_attribute(int& value, int which, cpu::kernel_record const& record,
                                          function_settings const& settings) noexcept;
[[nodiscard]] CUresult set_function_attribute(int which, int value,
                                              function_settings& settings) noexcept;
[[nodiscard]] CUresult set_function_cache(int config, function_settings& settings) noexcept;

/// CUDA_ERROR_INVALID_VALUE past the last parameter. `bytes` may be null.
[[nodiscard]] CUresult parameter_info(cpu::kernel_record const& record, std::size_t index,
                                      std::size_t* offset, std::size_t* bytes) noexcept;

[[nodiscard]] constexpr bool known_cache_preference(int config) noexcept {
  return config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/// Whether a number is a bank size. Bank sizes have no effect, as on current GPUs.
[[nodiscard]] constexpr bool known_bank_size(int config) noexcept {
  return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
         config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
}

}  // namespace flotilla::cpu_driver
