// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frees memory immediately, not in the order of a stream.

#include <cuda.h>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {

/// Frees the allocation of kind `kind` that begins at `address`. Before that, waits for all work of
/// the context that owns the allocation, because the work may use the memory.
[[nodiscard]] inline CUresult free_now(CUdeviceptr address, memory_kind kind) {
  auto const found = memory_map::of_process().find(address);
  if (!found || found->address != address || found->kind != kind || found->ending) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (auto const owner = context::table().find(found->owner)) { owner->synchronize(); }
  return memory_map::of_process().free(address, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace flotilla::cpu_driver
