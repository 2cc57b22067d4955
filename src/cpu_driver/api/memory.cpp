// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that allocate, free and query the memory of a device.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/free_now.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {
FLOTILLA_CPU_API CUresult cuMemAlloc_v2(CUdeviceptr* made, size_t bytes) {
  return with_context(__func__, [&](context& current) {
    if (made == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
    return memory_map::of_process().allocate(*made, bytes, memory_kind::device,
                                             current.home().memory(), current.self(), false);
  });
}

FLOTILLA_CPU_API CUresult cuMemFree_v2(CUdeviceptr address) {
  return with_context_or_none<when_poisoned::act_and_report>(__func__, [&] {
    if (address == 0) { return CUDA_SUCCESS; }
    return free_now(address, memory_kind::device);
  });
}

FLOTILLA_CPU_API CUresult cuMemAllocAsync(CUdeviceptr* made, size_t bytes, CUstream target) {
  return with_stream(__func__, target, [&](stream& found) {
    if (made == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
    return memory_map::of_process().allocate(*made, bytes, memory_kind::device,
                                             found.resources().account, found.resources().handle,
                                             true, of_pool);
  });
}

FLOTILLA_CPU_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream target) {
  return with_stream<when_poisoned::act_and_report>(__func__, target, [&](stream& found) {
    if (address == 0) { return CUDA_SUCCESS; }
    auto& memory = memory_map::of_process();
    if (!memory.begin_free(address)) { return CUDA_ERROR_INVALID_VALUE; }
    try {
      found.enqueue(free_memory{address});
    } catch (...) {
      memory.cancel_free(address);
      throw;
    }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
  return with_context(__func__, [&](context& current) {
    if (available != nullptr) { *available = current.home().memory().available(); }
    if (total != nullptr) { *total = current.home().memory().capacity(); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* start, size_t* bytes,
                                                  CUdeviceptr address) {
  return with_context(__func__, [&](context&) {
    auto const found = memory_map::of_process().find(address);
    if (!found || found->kind == memory_kind::registered) { return CUDA_ERROR_NOT_FOUND; }
    if (start != nullptr) { *start = found->address; }
    if (bytes != nullptr) { *bytes = found->bytes; }
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
