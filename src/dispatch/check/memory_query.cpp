// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/memory_query.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace flotilla::dispatch {

memory_facts memory_query::ask(std::uintptr_t address) const noexcept {
  using places = memory_facts::places;
  auto const read = [&](auto& into, CUpointer_attribute which) {
    return api_.pointer_get_attribute(&into, which, address);
  };
  CUmemorytype type{};
  CUresult const status = read(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  if (status == CUDA_ERROR_INVALID_VALUE) { return {places::unknown}; }
  unsigned long long id = 0;
  if (status != CUDA_SUCCESS || read(id, CU_POINTER_ATTRIBUTE_BUFFER_ID) != CUDA_SUCCESS) {
    return {};
  }
  unsigned managed = 0;
  if (read(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) == CUDA_SUCCESS && managed != 0) {
    return {places::managed, 0, id};
  }
  if (type != CU_MEMORYTYPE_DEVICE) { return {places::host, 0, id}; }
  int device = 0;
  if (read(device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) != CUDA_SUCCESS) { return {}; }
  return {places::device, device, id};
}

std::size_t memory_query::bytes_from(std::uintptr_t address) const noexcept {
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  bool const has_answer =
      api_.pointer_get_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) ==
          CUDA_SUCCESS &&
      api_.pointer_get_attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == CUDA_SUCCESS;
  return has_answer ? start + bytes - address : SIZE_MAX;
}

bool memory_query::is_accessible(std::uintptr_t address,
                                 context::context_handle const& context) const noexcept {
  // A green context can be current on only one thread, and the thread that drives the device may
  // need it now.
  auto const& source = context.effective().context;
  using kinds = context_source::kinds;
  bool const may_be_green =
      source && (source->kind == kinds::green || source->kind == kinds::adopted);
  if (may_be_green) { return true; }
  // The driver answers for the current context. Any other context may be current on several
  // threads, so this does not disturb the thread that drives the device.
  if (api_.ctx_push_current(context.handle()) != CUDA_SUCCESS) { return true; }
  unsigned long long flags = 0;
  CUresult const status =
      api_.pointer_get_attribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address);
  CUcontext popped = nullptr;
  api_.ctx_pop_current(&popped);
  return status != CUDA_SUCCESS || flags != 0;
}

bool memory_query::is_mapped(std::uintptr_t address) noexcept {
  auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address & ~(page - 1)), 1, &resident) == 0;
}

}  // namespace flotilla::dispatch
