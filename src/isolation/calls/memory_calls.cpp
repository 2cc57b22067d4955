// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Device memory. The owner allocates it, and the worker maps whole blocks of it.
#include <algorithm>
#include <cstring>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/memory_use.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

/// Tells the worker to map or unmap a block.
CUresult tell(isolated_device& on, control_message::kinds what, device_memory::block const& block,
              int passed) {
  control_message message{};
  message.kind = what;
  message.address = block.address;
  message.bytes = block.bytes;
  return on.ask(message, passed);
}

void free_now(isolated_device& on, CUdeviceptr address) {
  std::optional<CUdeviceptr> emptied;
  if (!on.memory().free(address, emptied) || !emptied) { return; }
  // Keep an empty block of small pieces: the next small allocation would make it again.
  auto const* const block = on.memory().block_at(*emptied);
  if (block->piece_bytes != 0) { return; }
  if (on.lost() == CUDA_SUCCESS) {
    static_cast<void>(tell(on, control_message::kinds::unmap_memory, *block, -1));
  }
  on.memory().release_block(*emptied);
}

/// Frees what streams have reached. With `must_wait`, waits for the first one.
/// @return false  No free is pending.
bool free_reached(isolated_device& on, bool must_wait) {
  auto& pending = on.frees().pending;
  if (pending.empty()) { return false; }
  while (!pending.empty()) {
    pending_free const first = pending.front();
    CUresult const status =
        must_wait ? forwarded<effect::none, operation::event_synchronize, &api::event_synchronize>(
                        first.event)
                  : forwarded<effect::none, operation::event_query, &api::event_query>(first.event);
    // Every other status means that the event is gone or that the device is lost, and then nothing
    // is ahead of the free any more.
    if (status == CUDA_ERROR_NOT_READY) { break; }
    must_wait = false;
    pending.pop_front();
    free_now(on, first.address);
    on.frees().idle_events.push_back(first.event);
  }
  return true;
}

CUresult allocate(isolated_device& on, std::uint32_t context, CUdeviceptr* made,
                  std::size_t bytes) {
  std::lock_guard const lock{on.mutex()};
  if (CUresult const lost = on.lost(); lost != CUDA_SUCCESS) { return lost; }
  free_reached(on, false);
  while (true) {
    if (auto const found = on.memory().take(bytes, context)) {
      *made = *found;
      return CUDA_SUCCESS;
    }
    CUdeviceptr added = 0;
    CUresult answer = on.memory().make_block(bytes, added);
    if (answer == CUDA_ERROR_OUT_OF_MEMORY && free_reached(on, true)) { continue; }
    if (answer != CUDA_SUCCESS) { return answer; }
    auto const& block = *on.memory().block_at(added);
    descriptor const shared = on.memory().share(block);
    answer = shared.valid() ? tell(on, control_message::kinds::map_memory, block, shared.get())
                            : CUDA_ERROR_OPERATING_SYSTEM;
    if (answer != CUDA_SUCCESS) {
      on.memory().release_block(added);
      return answer;
    }
  }
}

/// The object of the context of a stream.
std::uint32_t context_of(isolated_device& on, CUstream stream) {
  handle_bits const bits = handle_bits::of(stream);
  if (bits.value <= 2) { return current_target().context; }
  std::lock_guard const lock{on.mutex()};
  journal_entry const* const found = on.objects().find(bits.index());
  return found != nullptr ? found->parent : 0;
}

/// Takes an event of the context, which need not be current.
CUresult take_event(isolated_device& on, std::uint32_t context, CUevent& event) {
  auto& idle = on.frees().idle_events;
  auto const found = std::find_if(idle.begin(), idle.end(), [&](CUevent each) {
    journal_entry const* const one = on.objects().find(handle_bits::of(each).index());
    return one != nullptr && one->parent == context;
  });
  if (found != idle.end()) {
    event = *found;
    idle.erase(found);
    return CUDA_SUCCESS;
  }
  auto& contexts = thread_state::get().contexts;
  contexts.push_back(on.objects().handle_of(context).as<CUcontext>());
  CUresult const answer = forwarded<effect::create, operation::event_create, &api::event_create>(
      &event, CU_EVENT_DISABLE_TIMING);
  contexts.pop_back();
  return answer;
}

CUresult CUDAAPI mem_alloc(CUdeviceptr* made, std::size_t bytes) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_alloc(made, bytes); }
  if (is_current_destroyed()) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
  if (made == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
  return allocate(*to.device, to.context, made, bytes);
}

CUresult CUDAAPI mem_alloc_async(CUdeviceptr* made, std::size_t bytes, CUstream stream) {
  target to;
  to.look(stream);
  to.decide();
  if (to.device == nullptr) { return base().mem_alloc_async(made, bytes, stream); }
  if (made == nullptr || bytes == 0) { return CUDA_ERROR_INVALID_VALUE; }
  handle_bits const bits = handle_bits::of(stream);
  if (bits.value > 2 && !is_open(bits, object_kind::stream)) { return CUDA_ERROR_INVALID_HANDLE; }
  return allocate(*to.device, context_of(*to.device, stream), made, bytes);
}

/// The device of an allocation that starts at the address, or null.
isolated_device* device_of(CUdeviceptr address) {
  return is_device_address(address) ? owner::get().device(device_of_address(address)) : nullptr;
}

CUresult CUDAAPI mem_free(CUdeviceptr address) {
  if (address == 0) { return CUDA_SUCCESS; }
  isolated_device* const on = device_of(address);
  if (on == nullptr) { return base().mem_free(address); }
  // cuMemFree waits for the device, so that no kernel uses the memory any more.
  if (current_target().device == on) {
    static_cast<void>(forwarded<effect::none, operation::ctx_synchronize, &api::ctx_synchronize>());
  }
  std::lock_guard const lock{on->mutex()};
  auto const found = on->memory().find(address);
  if (!found || found->address != address) { return CUDA_ERROR_INVALID_VALUE; }
  free_now(*on, address);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI mem_free_async(CUdeviceptr address, CUstream stream) {
  if (address == 0) { return CUDA_SUCCESS; }
  isolated_device* const on = device_of(address);
  if (on == nullptr) { return base().mem_free_async(address, stream); }
  std::lock_guard const lock{on->mutex()};
  auto const found = on->memory().find(address);
  auto& pending = on->frees().pending;
  bool const is_pending = std::any_of(pending.begin(), pending.end(),
                                      [&](auto const& each) { return each.address == address; });
  if (!found || found->address != address || is_pending) { return CUDA_ERROR_INVALID_VALUE; }
  free_reached(*on, false);
  if (on->lost() != CUDA_SUCCESS) {
    free_now(*on, address);
    return CUDA_SUCCESS;
  }
  CUevent event = nullptr;
  std::uint32_t const context = context_of(*on, stream);
  if (CUresult const answer = take_event(*on, context, event); answer != CUDA_SUCCESS) {
    return answer;
  }
  CUresult const answer =
      forwarded<effect::none, operation::event_record, &api::event_record>(event, stream);
  if (answer != CUDA_SUCCESS) {
    on->frees().idle_events.push_back(event);
    return answer;
  }
  pending.push_back({address, event, context});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI mem_get_info(std::size_t* available, std::size_t* total) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_get_info(available, total); }
  if (CUresult const lost = to.device->lost(); lost != CUDA_SUCCESS) { return lost; }
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  CUresult const answer =
      forwarded<effect::none, operation::mem_get_info, &api::mem_get_info>(&free_bytes, &all_bytes);
  if (answer != CUDA_SUCCESS) { return answer; }
  std::lock_guard const lock{to.device->mutex()};
  free_reached(*to.device, false);
  if (base().kind == device_kind::cpu) {
    // The driver in the worker does not count memory that another process has made.
    free_bytes -= std::min(free_bytes, to.device->memory().bytes());
  }
  if (available != nullptr) { *available = free_bytes; }
  if (total != nullptr) { *total = all_bytes; }
  return CUDA_SUCCESS;
}

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

void free_memory_of(isolated_device& on, std::uint32_t context) {
  std::erase_if(on.frees().pending, [&](auto const& each) { return each.context == context; });
  // The events end with their contexts, and nobody knows here which are whose.
  std::erase_if(on.frees().idle_events, [&](CUevent each) {
    journal_entry const* const found = on.objects().find(handle_bits::of(each).index());
    return found == nullptr || found->parent == context;
  });
  for (CUdeviceptr const each : on.memory().of_context(context)) { free_now(on, each); }
}

void put_memory_calls(driver::table& into) {
  into.mem_alloc = &mem_alloc;
  into.mem_free = &mem_free;
  into.mem_alloc_async = &mem_alloc_async;
  into.mem_free_async = &mem_free_async;
  into.mem_get_info = &mem_get_info;
  into.pointer_get_attribute = &pointer_get_attribute;
}

}  // namespace flotilla::isolated
