#pragma once
// Freeing that does not go through a stream.

#include <cuda.h>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {

/// Waits for the work of the context that owns the allocation of that kind at `address`, so that
/// nothing can use it any more. Then frees it.
[[nodiscard]] inline CUresult free_now(CUdeviceptr address, memory_kind kind) {
  auto const found = memory_map::of_process().find(address);
  if (!found || found->address != address || found->kind != kind || found->ending) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (auto const owner = context::table().find(found->owner)) { owner->synchronize(); }
  return memory_map::of_process().free(address, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace flotilla::cpu_driver
