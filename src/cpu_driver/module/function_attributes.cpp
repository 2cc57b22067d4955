// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/module/function_attributes.hpp"

#include <algorithm>

#include "cpu_driver/module/module.hpp"
#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {

// All accesses to the settings are relaxed: no other memory depends on the settings.

CUresult function_attribute(int& value, int which, cpu::kernel_record const& record,
                            function_settings const& settings) noexcept {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = record.max_threads_per_block != 0 ? static_cast<int>(record.max_threads_per_block)
                                                : properties::max_threads_per_block;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = 90; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = settings.max_dynamic_shared.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = settings.shared_carveout.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default: break;
  }
  // All other attributes are 0. The host compiler manages registers and local, constant and static
  // shared memory. Clusters are not supported.
  if (which < 0 || which >= CU_FUNC_ATTRIBUTE_MAX) { return CUDA_ERROR_INVALID_VALUE; }
  value = 0;
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(int which, int value, function_settings& settings) noexcept {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > static_cast<int>(properties::max_shared_bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      settings.max_dynamic_shared.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) { return CUDA_ERROR_INVALID_VALUE; }
      settings.shared_carveout.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult max_active_blocks(int& blocks, cpu::kernel_record const& record, int block_size,
                           std::size_t shared_bytes) noexcept {
  constexpr int threads_of_multiprocessor = 2048;
  constexpr int max_blocks = 32;
  constexpr std::size_t shared_of_multiprocessor = 233472;
  constexpr std::size_t reserved_of_block = 1024;
  if (block_size < 1) { return CUDA_ERROR_INVALID_VALUE; }
  std::uint32_t const bound = record.max_threads_per_block;
  int const max_threads = bound != 0 ? static_cast<int>(bound) : properties::max_threads_per_block;
  if (block_size > max_threads || shared_bytes > properties::max_shared_bytes) {
    blocks = 0;
    return CUDA_SUCCESS;
  }
  int const warp_threads = (block_size + 31) / 32 * 32;
  auto const by_shared =
      static_cast<int>(shared_of_multiprocessor / (shared_bytes + reserved_of_block));
  blocks = std::min({max_blocks, threads_of_multiprocessor / warp_threads, by_shared});
  return CUDA_SUCCESS;
}

CUresult set_function_cache(int config, function_settings& settings) noexcept {
  if (!known_cache_preference(config)) { return CUDA_ERROR_INVALID_VALUE; }
  settings.cache.store(static_cast<CUfunc_cache>(config), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult parameter_info(cpu::kernel_record const& record, std::size_t index, std::size_t* offset,
                        std::size_t* bytes) noexcept {
  if (offset == nullptr || index >= record.parameter_count) { return CUDA_ERROR_INVALID_VALUE; }
  *offset = record.parameter_offsets[index];
  if (bytes != nullptr) { *bytes = record.parameter_sizes[index]; }
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
