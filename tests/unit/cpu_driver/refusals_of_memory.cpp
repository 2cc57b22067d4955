// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The refusals of memory. Allocations, and copies without a stream, need a valid current context.
// Memory can be freed if no context is current, but not if the current context was destroyed.
#include <cstdint>

#include "refusal_rows.hpp"

namespace flotilla::cpu_driver {

namespace {

/// The driver's interface passes a descriptor as a pointer.
void* as_handle(int descriptor) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
}

}  // namespace

std::vector<refusal> refusals_of_memory() {
  return {
      ROW(cuMemAlloc_v2, (&w.address, 64), none, gone, (nullptr, 64), value),
      ROW(cuMemFree_v2, (w.memory), ok, gone, (0), ok),
      ROW(cuMemAllocAsync, (&w.address, 64, w.stream), ok, ok, (nullptr, 64, w.stream), value),
      ROW(cuMemFreeAsync, (w.memory, w.stream), ok, ok, (0, nullptr), ok),
      ROW(cuDeviceGetDefaultMemPool, (&w.pool, 0), ok, ok, (nullptr, 0), value),
      ROW(cuDeviceGetMemPool, (&w.pool, 0), ok, ok, (nullptr, 0), value),
      ROW(cuMemPoolSetAccess, (w.pool, &w.access, 1), ok, ok, (nullptr, nullptr, 0), value),
      ROW(cuMemPoolGetAccess, (&w.access.flags, w.pool, &w.access.location), ok, ok,
          (nullptr, nullptr, nullptr), value),
      ROW(cuMemHostAlloc, (&w.pointer, 64, 0), none, gone, (nullptr, 64, 0), value),
      ROW(cuMemAllocHost_v2, (&w.pointer, 64), none, gone, (nullptr, 64), value),
      ROW(cuMemFreeHost, (w.host), ok, gone, (nullptr), ok),
      ROW(cuMemHostRegister_v2, (w.page, 4096, 0), none, gone, (nullptr, 4096, 0), value),
      ROW(cuMemHostUnregister, (w.page), none, gone, (nullptr), value),
      ROW(cuMemHostGetDevicePointer_v2, (&w.address, w.host, 0), none, gone, (nullptr, nullptr, 0),
          value),
      ROW(cuMemHostGetFlags, (&w.word, w.host), none, gone, (nullptr, nullptr), value),
      ROW(cuMemGetInfo_v2, (&w.size, &w.size), none, gone, (nullptr, nullptr), ok),
      ROW(cuMemGetAddressRange_v2, (&w.address, &w.size, w.memory), none, gone,
          (nullptr, nullptr, 0), CUDA_ERROR_NOT_FOUND),
      ROW(cuPointerGetAttribute, (&w.context, CU_POINTER_ATTRIBUTE_CONTEXT, w.memory), ok, ok,
          (nullptr, CU_POINTER_ATTRIBUTE_CONTEXT, 0), value),
      ROW(cuPointerGetAttributes, (1, w.facts, w.places, w.memory), ok, ok,
          (1, nullptr, nullptr, 0), value),
      ROW(cuMemcpy, (w.memory, w.memory + 32, 8), none, gone, (0, 0, 8), value),
      ROW(cuMemcpyHtoD_v2, (w.memory, w.page, 8), none, gone, (0, nullptr, 8), value),
      ROW(cuMemcpyDtoH_v2, (w.page, w.memory, 8), none, gone, (nullptr, 0, 8), value),
      ROW(cuMemcpyDtoD_v2, (w.memory, w.memory + 32, 8), none, gone, (0, 0, 8), value),
      ROW(cuMemcpyPeer, (w.memory, w.owner, w.memory + 32, w.owner, 8), none, gone,
          (0, nullptr, 0, nullptr, 8), value),
      ROW(cuMemcpyAsync, (w.memory, w.memory + 32, 8, w.stream), ok, ok, (0, 0, 8, nullptr), value),
      ROW(cuMemcpyHtoDAsync_v2, (w.memory, w.page, 8, w.stream), ok, ok, (0, nullptr, 8, nullptr),
          value),
      ROW(cuMemcpyDtoHAsync_v2, (w.page, w.memory, 8, w.stream), ok, ok, (nullptr, 0, 8, nullptr),
          value),
      ROW(cuMemcpyDtoDAsync_v2, (w.memory, w.memory + 32, 8, w.stream), ok, ok, (0, 0, 8, nullptr),
          value),
      ROW(cuMemcpyPeerAsync, (w.memory, w.owner, w.memory + 32, w.owner, 8, w.stream), ok, ok,
          (0, nullptr, 0, nullptr, 8, nullptr), value),
      ROW(cuMemGetAllocationGranularity,
          (&w.size, &w.wanted_block, CU_MEM_ALLOC_GRANULARITY_MINIMUM), ok, ok,
          (nullptr, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM), value),
      ROW(cuMemCreate, (&w.made_block, w.block_bytes, &w.wanted_block, 0), ok, ok,
          (nullptr, 0, nullptr, 0), value),
      ROW(cuMemRelease, (w.block), ok, ok, (0), value),
      ROW(cuMemExportToShareableHandle,
          (&w.number, w.block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), ok, ok,
          (nullptr, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), value),
      ROW(cuMemImportFromShareableHandle,
          (&w.made_block, as_handle(w.descriptor), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), ok,
          ok, (nullptr, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), value),
      ROW(cuMemAddressReserve, (&w.address, w.block_bytes, 0, 0, 0), ok, ok, (nullptr, 0, 0, 0, 0),
          value),
      ROW(cuMemAddressFree, (w.range, w.block_bytes), ok, ok, (0, 0), value),
      ROW(cuMemMap, (w.range, w.block_bytes, 0, w.block, 0), ok, ok, (0, 0, 0, 0, 0), value),
      ROW(cuMemUnmap, (w.range, w.block_bytes), ok, ok, (0, 0), value),
      ROW(cuMemSetAccess, (w.range, w.block_bytes, &w.access, 1), ok, ok, (0, 0, nullptr, 0),
          value),
      ROW(cuMemcpyBatchAsync_v2,
          (&w.memory, &w.memory, &w.eight, 1, &w.copy_order, &w.zero, 1, w.stream), ok, ok,
          (nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, w.stream), value),
      ROW(cuMemcpy2D_v2, (&w.empty_copy), none, gone, (nullptr), value),
      ROW(cuMemcpy2DUnaligned_v2, (&w.empty_copy), none, gone, (nullptr), value),
      ROW(cuMemcpy2DAsync_v2, (&w.empty_copy, w.stream), ok, ok, (nullptr, nullptr), value),
      ROW(cuMemAllocPitch_v2, (&w.address, &w.size, 10, 2, 4), none, gone,
          (nullptr, nullptr, 10, 2, 4), value),
      ROW(cuMemsetD8_v2, (w.memory, 1, 8), none, gone, (0, 1, 8), value),
      ROW(cuMemsetD16_v2, (w.memory, 1, 8), none, gone, (0, 1, 8), value),
      ROW(cuMemsetD32_v2, (w.memory, 1, 8), none, gone, (0, 1, 8), value),
      ROW(cuMemsetD8Async, (w.memory, 1, 8, w.stream), ok, ok, (0, 1, 8, nullptr), value),
      ROW(cuMemsetD16Async, (w.memory, 1, 8, w.stream), ok, ok, (0, 1, 8, nullptr), value),
      ROW(cuMemsetD32Async, (w.memory, 1, 8, w.stream), ok, ok, (0, 1, 8, nullptr), value),
  };
}

}  // namespace flotilla::cpu_driver
