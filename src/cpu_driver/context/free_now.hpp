#pragma once
// Freeing that does not go through a stream.

#include <cuda.h>

#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {

/// Frees the allocation of that kind that begins at `address`, when nothing can use it any more: it
/// waits for the work of the context that it belongs to.
[[nodiscard]] inline CUresult free_now(CUdeviceptr address, memory_kind kind) {
  auto& state = driver_state::get();
  auto const found = state.memory().find(address);
  if (!found || found->address != address || found->kind != kind || found->ending) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (auto const owner = state.contexts().find(found->owner)) { owner->synchronize(); }
  return state.memory().free(address, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace flotilla::cpu_driver
