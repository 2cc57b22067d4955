// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The attributes of pointers.
#include <algorithm>
#include <cstring>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

template <class Value>
CUresult write_to(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

/// An attribute of memory that this process has made. `device` is -1 for host memory.
CUresult attribute(void* to, CUpointer_attribute which, CUdeviceptr address, CUdeviceptr start,
                   std::size_t bytes, std::uint64_t id, int device) {
  bool const on_host = device < 0;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write_to(to, on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return write_to(to, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return on_host ? write_to(to, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return write_to(to, static_cast<unsigned long long>(id));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return write_to(to, 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return write_to(to, std::max(device, 0));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return write_to(to, start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return write_to(to, bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return write_to(to, 1u);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: {
      target const here = current_target();
      bool const is_other = here.device != nullptr ? here.device->ordinal() != device
                                                   : thread_state::get().top() != nullptr;
      bool const reaches = on_host || !is_other;
      return write_to(to,
                      static_cast<unsigned long long>(reaches ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                              : CU_MEM_ACCESS_FLAGS_PROT_NONE));
    }
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult CUDAAPI pointer_get_attribute(void* value, CUpointer_attribute which,
                                       CUdeviceptr address) {
  if (value == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  auto const* const host = reinterpret_cast<void const*>(address);
  if (is_host_address(address)) {
    auto const found = owner::get().host().find(host);
    if (!found || !found->is_registered) { return CUDA_ERROR_INVALID_VALUE; }
    auto const start = reinterpret_cast<CUdeviceptr>(found->address);
    return attribute(value, which, address, start, found->bytes, start, -1);
  }
  if (isolated_device* const on = device_of(address)) {
    std::lock_guard const lock{on->mutex()};
    auto const found = on->memory().find(address);
    if (!found) { return CUDA_ERROR_INVALID_VALUE; }
    CUcontext const context = on->objects().handle_of(found->context).as<CUcontext>();
    if (which == CU_POINTER_ATTRIBUTE_CONTEXT) { return write_to(value, context); }
    return attribute(value, which, address, found->address, found->bytes,
                     found->id << 6 | static_cast<std::uint64_t>(on->ordinal()), on->ordinal());
  }
  if (which != CU_POINTER_ATTRIBUTE_ACCESS_FLAGS || current_target().device == nullptr) {
    return base().pointer_get_attribute(value, which, address);
  }
  // Memory of this process, which no worker has.
  unsigned type = 0;
  CUresult const known =
      base().pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  unsigned long long const access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return known == CUDA_SUCCESS ? write_to(value, access) : known;
}

}  // namespace

void put_pointer_calls(driver::table& into) {
  into.pointer_get_attribute = never_throws<&pointer_get_attribute>;
}

}  // namespace flotilla::isolated
