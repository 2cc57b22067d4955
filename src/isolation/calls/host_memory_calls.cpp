// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Pinned memory: parts of the memory that all workers have mapped.
#include <unistd.h>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

CUresult tell_all(control_message::kinds what, void* address, std::size_t bytes) {
  control_message message{};
  message.kind = what;
  message.address = reinterpret_cast<std::uint64_t>(address);
  message.bytes = bytes;
  CUresult first = CUDA_SUCCESS;
  for (int i = 0; i < max_devices; ++i) {
    isolated_device* const each = owner::get().device(i);
    // The successor of a lost worker gets all memory that is registered then.
    if (each == nullptr || each->generation() == 0 || each->lost() != CUDA_SUCCESS) { continue; }
    CUresult const answer = each->ask(message);
    if (first == CUDA_SUCCESS && each->lost() == CUDA_SUCCESS) { first = answer; }
  }
  return first;
}

/// Registers a block in all workers. Mark it first: a worker that starts now looks at the marks.
CUresult register_everywhere(void* address, std::size_t bytes) {
  owner::get().host().set_registered(address, true);
  CUresult const answer = tell_all(control_message::kinds::register_host, address, bytes);
  if (answer == CUDA_SUCCESS) { return answer; }
  owner::get().host().set_registered(address, false);
  static_cast<void>(tell_all(control_message::kinds::unregister_host, address, bytes));
  return answer;
}

void unregister_everywhere(void* address, std::size_t bytes) {
  owner::get().host().set_registered(address, false);
  static_cast<void>(tell_all(control_message::kinds::unregister_host, address, bytes));
}

CUresult CUDAAPI mem_host_alloc(void** made, std::size_t bytes, unsigned flags) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_host_alloc(made, bytes, flags); }
  if (CUresult const lost = to.device->lost(); lost != CUDA_SUCCESS) { return lost; }
  if (is_current_destroyed()) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (made == nullptr || (flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
  *made = nullptr;
  if (bytes == 0) { return CUDA_SUCCESS; }
  auto const installed = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  host_arena& memory = owner::get().host();
  *made = memory.reuse(bytes, flags);
  if (*made != nullptr) { return CUDA_SUCCESS; }
  void* const found = bytes <= installed ? memory.allocate(bytes, flags) : nullptr;
  if (found == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUresult const answer = register_everywhere(found, memory.find(found)->capacity);
  if (answer != CUDA_SUCCESS) {
    memory.free(found);
    return answer;
  }
  *made = found;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI mem_free_host(void* address) {
  if (address == nullptr || !is_host_address(reinterpret_cast<std::uintptr_t>(address))) {
    return base().mem_free_host(address);
  }
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || !found->is_registered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (owner::get().host().keep(address)) { return CUDA_SUCCESS; }
  unregister_everywhere(address, found->capacity);
  owner::get().host().free(address);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI mem_host_register(void* address, std::size_t bytes, unsigned flags) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_host_register(address, bytes, flags); }
  if (CUresult const lost = to.device->lost(); lost != CUDA_SUCCESS) { return lost; }
  if (address == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
  // Only memory of device_recovery::allocate_shared is in the worker as well.
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || bytes > found->bytes) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (found->is_registered) { return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; }
  return register_everywhere(address, found->capacity);
}

CUresult CUDAAPI mem_host_unregister(void* address) {
  if (!is_host_address(reinterpret_cast<std::uintptr_t>(address))) {
    return base().mem_host_unregister(address);
  }
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || !found->is_registered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  unregister_everywhere(address, found->capacity);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI mem_host_get_device_pointer(CUdeviceptr* made, void* address, unsigned flags) {
  auto const start = reinterpret_cast<CUdeviceptr>(address);
  if (!is_host_address(start)) {
    return current_target().device != nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : base().mem_host_get_device_pointer(made, address, flags);
  }
  auto const found = owner::get().host().find(address);
  if (made == nullptr || flags != 0 || !found || !found->is_registered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *made = start;  // every worker has checked this when it registered the memory
  return CUDA_SUCCESS;
}

}  // namespace

void put_host_memory_calls(driver::table& into) {
  into.mem_host_alloc = &mem_host_alloc;
  into.mem_free_host = &mem_free_host;
  into.mem_host_register = &mem_host_register;
  into.mem_host_unregister = &mem_host_unregister;
  into.mem_host_get_device_pointer = &mem_host_get_device_pointer;
}

}  // namespace flotilla::isolated
