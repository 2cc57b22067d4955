// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes and settings of functions and kernels. Enumeration values are passed as `int`, because
// an application may pass numbers that are not enumerators.

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

/// Computes how many blocks a multiprocessor could hold at the same time. The registers of a kernel
/// are not known, so only threads and shared memory count, as for an H200.
[[nodiscard]] CUresult max_active_blocks(int& blocks, cpu::kernel_record const& record,
                                         int block_size, std::size_t shared_bytes) noexcept;

/// Finds the offset and the size of parameter `index`. `bytes` may be null. Returns
/// CUDA_ERROR_INVALID_VALUE if the kernel has no such parameter.
[[nodiscard]] CUresult parameter_info(cpu::kernel_record const& record, std::size_t index,
                                      std::size_t* offset, std::size_t* bytes) noexcept;

[[nodiscard]] constexpr bool known_cache_preference(int config) noexcept {
  return config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/// Whether `config` is a shared memory bank size. Bank sizes have no effect, as on current GPUs.
[[nodiscard]] constexpr bool known_bank_size(int config) noexcept {
  return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
         config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
}

}  // namespace flotilla::cpu_driver
