// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Pinned memory: parts of the memory that all workers have mapped. The base driver registers them
// too if devices of this process share a runtime with isolated ones.
#include <unistd.h>

#include <utility>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/never_throws.hpp"
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
    CUresult const answer = each != nullptr ? each->tell_of_host_memory(message) : CUDA_SUCCESS;
    if (first == CUDA_SUCCESS) { first = answer; }
  }
  return first;
}

/// Registers a block in all workers. Marks it first: see isolated_device::tell_of_host_memory.
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

/// Takes a block that all workers have registered.
CUresult take_block(void** made, std::size_t bytes, unsigned flags) {
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

/// Gives back a block that only workers have registered.
void give_back_block(void* address, std::size_t capacity) {
  if (owner::get().host().keep(address)) { return; }
  unregister_everywhere(address, capacity);
  owner::get().host().free(address);
}

/// Registers a block with the base driver too. A context of this process must be current.
CUresult register_here(void* address, std::size_t capacity) {
  CUresult const answer = base().mem_host_register(
      address, capacity, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (answer != CUDA_SUCCESS) { return answer; }
  CUdeviceptr seen = 0;
  CUresult const found = base().mem_host_get_device_pointer(&seen, address, 0);
  if (found == CUDA_SUCCESS && seen == reinterpret_cast<CUdeviceptr>(address)) {
    owner::get().host().set_here(address, true);
    return CUDA_SUCCESS;
  }
  base().mem_host_unregister(address);
  return found != CUDA_SUCCESS ? found
                               : CUDA_ERROR_NOT_SUPPORTED;  // an address must be one for all
}

/// Ends the registration with the base driver. Its devices must not use the block any more.
CUresult unregister_here(host_arena::block const& one) {
  if (!one.is_here) { return CUDA_SUCCESS; }
  CUresult const answer = base().mem_host_unregister(one.address);
  if (answer == CUDA_SUCCESS) { owner::get().host().set_here(one.address, false); }
  return answer;
}

CUresult CUDAAPI mem_host_alloc(void** made, std::size_t bytes, unsigned flags) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_host_alloc(made, bytes, flags); }
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  if (is_current_destroyed()) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
  return take_block(made, bytes, flags);
}

/// For the devices of this process that share a runtime with isolated ones.
CUresult CUDAAPI mem_host_alloc_for_all(void** made, std::size_t bytes, unsigned flags) {
  CUresult answer = take_block(made, bytes, flags);
  if (answer != CUDA_SUCCESS || bytes == 0) { return answer; }
  std::size_t const capacity = owner::get().host().find(*made)->capacity;
  answer = register_here(*made, capacity);
  if (answer != CUDA_SUCCESS) { give_back_block(std::exchange(*made, nullptr), capacity); }
  return answer;
}

CUresult CUDAAPI mem_free_host(void* address) {
  if (address == nullptr || !is_host_address(reinterpret_cast<std::uintptr_t>(address))) {
    return base().mem_free_host(address);
  }
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || !found->is_registered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult const answer = unregister_here(*found); answer != CUDA_SUCCESS) { return answer; }
  give_back_block(address, found->capacity);
  return CUDA_SUCCESS;
}

/// Only memory of device_recovery::allocate_shared is in the workers as well.
CUresult register_shared(void* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || bytes > found->bytes) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (found->is_registered) { return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; }
  return register_everywhere(address, found->capacity);
}

CUresult CUDAAPI mem_host_register(void* address, std::size_t bytes, unsigned flags) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_host_register(address, bytes, flags); }
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  return register_shared(address, bytes);
}

/// For the devices of this process that share a runtime with isolated ones.
CUresult CUDAAPI mem_host_register_for_all(void* address, std::size_t bytes, unsigned flags) {
  if (!is_host_address(reinterpret_cast<std::uintptr_t>(address))) {
    return base().mem_host_register(address, bytes, flags);
  }
  CUresult answer = register_shared(address, bytes);
  if (answer != CUDA_SUCCESS) { return answer; }
  std::size_t const capacity = owner::get().host().find(address)->capacity;
  answer = register_here(address, capacity);
  if (answer != CUDA_SUCCESS) { unregister_everywhere(address, capacity); }
  return answer;
}

CUresult CUDAAPI mem_host_unregister(void* address) {
  if (!is_host_address(reinterpret_cast<std::uintptr_t>(address))) {
    return base().mem_host_unregister(address);
  }
  auto const found = owner::get().host().find(address);
  if (!found || found->address != address || !found->is_registered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  if (CUresult const answer = unregister_here(*found); answer != CUDA_SUCCESS) { return answer; }
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
  bool const is_base = thread_state::get().top() != nullptr && current_target().device == nullptr;
  if (is_base && !found->is_here) { return CUDA_ERROR_INVALID_VALUE; }
  *made = start;  // checked when the memory was registered
  return CUDA_SUCCESS;
}

}  // namespace

void put_host_memory_calls(driver::table& into) {
  into.mem_host_alloc = never_throws<&mem_host_alloc>;
  into.mem_free_host = never_throws<&mem_free_host>;
  into.mem_host_register = never_throws<&mem_host_register>;
  into.mem_host_unregister = never_throws<&mem_host_unregister>;
  into.mem_host_get_device_pointer = never_throws<&mem_host_get_device_pointer>;
}

void put_local_host_memory_calls(driver::table& into) {
  into.mem_host_alloc = never_throws<&mem_host_alloc_for_all>;
  into.mem_host_register = never_throws<&mem_host_register_for_all>;
}

}  // namespace flotilla::isolated
