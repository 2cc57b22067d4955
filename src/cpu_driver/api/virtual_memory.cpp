// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for memory that processes can share: blocks, and their mappings in reserved ranges
// of addresses. As on a GPU, blocks need no context.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdint>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/memory/shared_memory.hpp"

namespace flotilla::cpu_driver {
namespace {

bool is_whole(std::size_t bytes) noexcept {
  return bytes != 0 && bytes % shared_memory_granularity == 0;
}

/// Makes a range inaccessible, and keeps the addresses reserved. With MAP_FIXED, the call replaces
/// what is there.
bool reserve_again(CUdeviceptr address, std::size_t bytes) noexcept {
  return ::mmap(as_pointer(address), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/// Returns the device of a location, or null if the location is none of a device.
device* device_of(CUmemLocation const& where) noexcept {
  return raw_enum(where.type) == CU_MEM_LOCATION_TYPE_DEVICE
             ? driver_state::get().find_device(where.id)
             : nullptr;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuMemGetAllocationGranularity(size_t* bytes,
                                                        CUmemAllocationProp const* wanted,
                                                        CUmemAllocationGranularity_flags) {
  return with_driver(__func__, [&] {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return answer(bytes, shared_memory_granularity);
  });
}

FLOTILLA_CPU_API CUresult cuMemCreate(CUmemGenericAllocationHandle* made, size_t bytes,
                                      CUmemAllocationProp const* wanted, unsigned long long flags) {
  return with_driver(__func__, [&] {
    if (made == nullptr || wanted == nullptr || flags != 0 || !is_whole(bytes) ||
        raw_enum(wanted->type) != CU_MEM_ALLOCATION_TYPE_PINNED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    int const handles = raw_enum(wanted->requestedHandleTypes);
    if (handles != CU_MEM_HANDLE_TYPE_NONE && handles != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    device* const home = device_of(wanted->location);
    if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    return shared_memory::of_process().create(*made, bytes, home->memory());
  });
}

FLOTILLA_CPU_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    return shared_memory::of_process().release(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuMemExportToShareableHandle(void* exported,
                                                       CUmemGenericAllocationHandle handle,
                                                       CUmemAllocationHandleType type,
                                                       unsigned long long flags) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    auto const found = shared_memory::of_process().find(handle);
    if (exported == nullptr || flags != 0 || !found ||
        raw_enum(type) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    int const copy = ::fcntl(found->descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) { return CUDA_ERROR_OPERATING_SYSTEM; }
    *static_cast<int*>(exported) = copy;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* made,
                                                         void* exported,
                                                         CUmemAllocationHandleType type) {
  return with_driver(__func__, [&] {
    if (made == nullptr || raw_enum(type) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // The driver's interface passes the descriptor as a pointer.
    auto const descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(exported));
    return shared_memory::of_process().import(*made, descriptor);
  });
}

FLOTILLA_CPU_API CUresult cuMemAddressReserve(CUdeviceptr* made, size_t bytes, size_t alignment,
                                              CUdeviceptr wanted, unsigned long long flags) {
  return with_driver(__func__, [&] {
    bool const is_aligned =
        alignment <= shared_memory_granularity || (wanted != 0 && wanted % alignment == 0);
    if (made == nullptr || flags != 0 || !is_whole(bytes) || !is_aligned) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // Reserve more than is needed if the system may choose, so that an aligned part fits.
    std::size_t const room = wanted != 0 ? bytes : bytes + shared_memory_granularity;
    void* const found = ::mmap(
        as_pointer(wanted), room, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wanted != 0 ? MAP_FIXED_NOREPLACE : 0), -1,
        0);
    if (found == MAP_FAILED) { return CUDA_ERROR_OUT_OF_MEMORY; }
    auto const start = reinterpret_cast<CUdeviceptr>(found);
    CUdeviceptr const aligned = (start + shared_memory_granularity - 1) /
                                shared_memory_granularity * shared_memory_granularity;
    if (aligned != start) { ::munmap(found, aligned - start); }
    if (aligned + bytes != start + room) {
      ::munmap(as_pointer(aligned + bytes), start + room - aligned - bytes);
    }
    *made = aligned;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    bool const is_valid = address != 0 && is_whole(bytes);
    return is_valid && ::munmap(as_pointer(address), bytes) == 0 ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                                   CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return with_driver(__func__, [&] {
    auto const found = shared_memory::of_process().find(handle);
    if (!found || flags != 0 || offset != 0 || bytes != found->bytes || address == 0 ||
        address % shared_memory_granularity != 0 ||
        memory_map::of_process().find(address).has_value()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // cuMemSetAccess makes the memory accessible.
    void* const made = ::mmap(as_pointer(address), bytes, PROT_NONE,
                              MAP_SHARED | MAP_NORESERVE | MAP_FIXED, found->descriptor, 0);
    return made != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

FLOTILLA_CPU_API CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (address == 0 || !is_whole(bytes)) { return CUDA_ERROR_INVALID_VALUE; }
    static_cast<void>(memory_map::of_process().free(address, memory_kind::mapped));
    return reserve_again(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
                                         CUmemAccessDesc const* wanted, size_t count) {
  return with_driver(__func__, [&] {
    if (address == 0 || !is_whole(bytes) || wanted == nullptr || count != 1) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    device* const home = device_of(wanted->location);
    if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    int const flags = raw_enum(wanted->flags);
    int protection = PROT_NONE;
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) { protection = PROT_READ; }
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) { protection = PROT_READ | PROT_WRITE; }
    if (::mprotect(as_pointer(address), bytes, protection) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    memory_map& memory = memory_map::of_process();
    static_cast<void>(memory.free(address, memory_kind::mapped));
    if (protection == PROT_NONE) { return CUDA_SUCCESS; }
    return memory.adopt(as_pointer(address), bytes, memory_kind::mapped, home->memory(), nullptr)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace flotilla::cpu_driver
