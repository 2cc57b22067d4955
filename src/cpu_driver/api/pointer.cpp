// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that query attributes of addresses.
#include <cstring>
#include <optional>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/api/peer_capability.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {
namespace {

template <class Value>
CUresult write_to(void* to, Value value) noexcept {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

/// Returns the pool of the allocation, or null if the allocation is not from a pool.
memory_pool* pool_of(allocation const& found) noexcept {
  bool const is_pooled = found.kind == memory_kind::device && found.flags == of_pool;
  return is_pooled ? &driver_state::get().find_device(found.account->ordinal())->pool() : nullptr;
}

/// Returns the CUmemAccess_flags of the current context for the allocation.
unsigned long long access_flags(allocation const& found, bool on_host) noexcept {
  place here, owner;
  if (memory_pool const* const pool = pool_of(found);
      pool != nullptr && current_place(here) == CUDA_SUCCESS) {
    return access_to(*pool, here.whole->home().ordinal());
  }
  // Without a current context, the driver of an H200 answers for the device of the memory.
  bool const is_reachable = on_host || current_place(here) != CUDA_SUCCESS ||
                            here.whole->home().ordinal() == found.account->ordinal() ||
                            (found.owner != nullptr && find_place(found.owner, owner) &&
                             here.whole->peers().holds(owner.whole->id()) &&
                             are_peers(here.whole->home().ordinal(), found.account->ordinal()));
  return is_reachable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/// Returns the allocation that contains the address, unless its asynchronous free has begun.
std::optional<allocation> find_live(CUdeviceptr address) {
  auto found = memory_map::of_process().find(address);
  return found && !found->ending ? found : std::nullopt;
}

CUresult pointer_attribute(void* to, int which, allocation const& found,
                           CUdeviceptr address) noexcept {
  bool const on_host = found.kind == memory_kind::host || found.kind == memory_kind::registered;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return write_to(to, found.owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write_to(to, on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return write_to(to, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return on_host ? write_to(to, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write_to(to, static_cast<unsigned long long>(found.id));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return write_to(to, 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return write_to(to, found.account->ordinal());
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return write_to(to, found.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return write_to(to, found.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return write_to(to, 1u);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
      memory_pool* const pool = pool_of(found);
      return write_to(to, pool != nullptr ? pool->handle() : nullptr);
    }
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return write_to(to, access_flags(found, on_host));
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/// Writes an attribute of an address that the driver does not know, for cuPointerGetAttributes.
CUresult fact_of_nothing(void* to, int which, CUdeviceptr address) noexcept {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return write_to(to, int{CU_DEVICE_INVALID});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return write_to(to, CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return CUDA_SUCCESS;  // leaves the caller's variable unchanged
    default: break;
  }
  // Every other attribute has the value zero. The number of bytes to write depends on the
  // attribute.
  if (which == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS) { return write_to(to, 0ull); }
  allocation const nothing{};
  if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || which == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      which == CU_POINTER_ATTRIBUTE_IS_MANAGED || which == CU_POINTER_ATTRIBUTE_MAPPED) {
    return write_to(to, 0u);
  }
  return pointer_attribute(to, which, nothing, address);
}

}  // namespace

FLOTILLA_CPU_API CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which,
                                                CUdeviceptr address) {
  return with_driver(__func__, [&] {
    if (value == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    auto const found = find_live(address);
    return found ? pointer_attribute(value, raw_enum(which), *found, address)
                 : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which,
                                                 void** values, CUdeviceptr address) {
  return with_driver(__func__, [&] {
    if (count == 0 || which == nullptr || values == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    auto const found = find_live(address);
    for (unsigned i = 0; i < count; ++i) {
      int const asked = raw_enum(which[i]);
      if (values[i] == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
      CUresult const status = found ? pointer_attribute(values[i], asked, *found, address)
                                    : fact_of_nothing(values[i], asked, address);
      if (status == CUDA_ERROR_INVALID_VALUE) {
        // The address does not have this attribute. For example, device memory has no host pointer.
        static_cast<void>(write_to(values[i], CUdeviceptr{0}));
      } else if (status != CUDA_SUCCESS) {
        return status;
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
