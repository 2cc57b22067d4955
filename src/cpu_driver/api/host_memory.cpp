// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for host memory that devices can access: pinned or registered memory. Devices and
// host share one address space, so mapping has no effect.
#include <unistd.h>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/free_now.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult allocate_host(context& current, void** made, std::size_t bytes, unsigned flags) {
  if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (bytes == 0) {
    // For zero bytes, the driver of an H200 also returns CUDA_SUCCESS. The null pointer is our
    // choice.
    *made = nullptr;
    return CUDA_SUCCESS;
  }
  // Pinned memory cannot exceed the installed memory. Without this check, an ordinary allocator
  // might allocate more, and a sanitizer's allocator would end the process.
  auto const installed = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > installed) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUdeviceptr address = 0;
  CUresult const status =
      memory_map::of_process().allocate(address, bytes, memory_kind::host, current.home().memory(),
                                        current.self(), false, flags | CU_MEMHOSTALLOC_DEVICEMAP);
  if (status == CUDA_SUCCESS) { *made = reinterpret_cast<void*>(address); }
  return status;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuMemHostAlloc(void** made, size_t bytes, unsigned flags) {
  return with_context(__func__, [&](context& current) {
    constexpr unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if ((flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
    return allocate_host(current, made, bytes, flags);
  });
}

FLOTILLA_CPU_API CUresult cuMemAllocHost_v2(void** made, size_t bytes) {
  return with_context(__func__,
                      [&](context& current) { return allocate_host(current, made, bytes, 0); });
}

FLOTILLA_CPU_API CUresult cuMemFreeHost(void* address) {
  return with_context_or_none<when_poisoned::act_and_report>(__func__, [&] {
    if (address == nullptr) { return CUDA_SUCCESS; }
    return free_now(reinterpret_cast<CUdeviceptr>(address), memory_kind::host);
  });
}

FLOTILLA_CPU_API CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  return with_context(__func__, [&](context& current) {
    constexpr unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    if (address == nullptr || bytes == 0 || (flags & ~known) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return memory_map::of_process().adopt(address, bytes, memory_kind::registered,
                                          current.home().memory(), current.self(),
                                          flags | CU_MEMHOSTREGISTER_DEVICEMAP)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

FLOTILLA_CPU_API CUresult cuMemHostUnregister(void* address) {
  return with_context<when_poisoned::act_and_report>(__func__, [&](context&) {
    if (address == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    CUresult const status =
        free_now(reinterpret_cast<CUdeviceptr>(address), memory_kind::registered);
    return status == CUDA_SUCCESS ? status : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

FLOTILLA_CPU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* found, void* address,
                                                       unsigned flags) {
  return with_context(__func__, [&](context&) {
    auto const asked = reinterpret_cast<CUdeviceptr>(address);
    auto const holder = memory_map::of_process().find(asked);
    bool const on_host =
        holder && (holder->kind == memory_kind::host || holder->kind == memory_kind::registered);
    if (found == nullptr || flags != 0 || !on_host) { return CUDA_ERROR_INVALID_VALUE; }
    *found = asked;  // devices and host share one address space
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemHostGetFlags(unsigned* flags, void* address) {
  return with_context(__func__, [&](context&) {
    auto const holder = memory_map::of_process().find(reinterpret_cast<CUdeviceptr>(address));
    bool const on_host =
        holder && (holder->kind == memory_kind::host || holder->kind == memory_kind::registered);
    if (flags == nullptr || !on_host) { return CUDA_ERROR_INVALID_VALUE; }
    *flags = holder->flags;
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
