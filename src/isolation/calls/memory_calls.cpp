// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Device memory. The owner allocates it, and the worker maps whole blocks of it.
#include <algorithm>

#include "base/refusal.hpp"
#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/memory_use.hpp"
#include "isolation/calls/never_throws.hpp"
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

/// Returns whether the worker does not have the block mapped any more.
bool unmap(isolated_device& on, device_memory::block const& block) {
  return on.lost() != CUDA_SUCCESS ||
         tell(on, control_message::kinds::unmap_memory, block, -1) == CUDA_SUCCESS ||
         on.lost() != CUDA_SUCCESS;
}

void free_now(isolated_device& on, CUdeviceptr address) {
  std::optional<CUdeviceptr> emptied;
  if (!on.memory().free(address, emptied) || !emptied) { return; }
  // Keep an empty block of small pieces: the next small allocation would make it again.
  auto const* const block = on.memory().block_at(*emptied);
  if (block->piece_bytes != 0) { return; }
  on.memory().release_block(*emptied, !unmap(on, *block));
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
  if (CUresult const lost = on.lost_for(context); lost != CUDA_SUCCESS) { return lost; }
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
    descriptor shared;
    answer = on.memory().share(block, shared);
    if (answer == CUDA_SUCCESS) {
      answer = tell(on, control_message::kinds::map_memory, block, shared.get());
    } else {
      base::note_refusal(answer, "cuMemExportToShareableHandle failed on a block of device memory");
    }
    if (answer != CUDA_SUCCESS) {
      on.memory().release_block(added, !unmap(on, block));
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
  // Later, nothing may fail for lack of memory: all events may become idle.
  idle.reserve(idle.size() + on.frees().pending.size() + 1);
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
  std::uint32_t const context = context_of(*on, stream);
  if (on->lost_for(context) != CUDA_SUCCESS) {
    free_now(*on, address);
    return CUDA_SUCCESS;
  }
  CUevent event = nullptr;
  if (CUresult const answer = take_event(*on, context, event); answer != CUDA_SUCCESS) {
    return answer;
  }
  // The entry first, because it needs memory.
  try {
    pending.push_back({address, event, context});
  } catch (...) {
    on->frees().idle_events.push_back(event);
    throw;
  }
  CUresult const answer =
      forwarded<effect::none, operation::event_record, &api::event_record>(event, stream);
  if (answer != CUDA_SUCCESS) {
    pending.pop_back();
    on->frees().idle_events.push_back(event);
  }
  return answer;
}

CUresult CUDAAPI mem_get_info(std::size_t* available, std::size_t* total) {
  target const to = current_target();
  if (to.device == nullptr) { return base().mem_get_info(available, total); }
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
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

}  // namespace

void free_memory_of(isolated_device& on, std::uint32_t context) {
  std::erase_if(on.frees().pending, [&](auto const& each) { return each.context == context; });
  // The events end with their contexts, and nobody knows here which are whose.
  std::erase_if(on.frees().idle_events, [&](CUevent each) {
    journal_entry const* const found = on.objects().find(handle_bits::of(each).index());
    return found == nullptr || found->parent == context;
  });
  CUdeviceptr last = 0;
  while (auto const each = on.memory().next_of(context, last)) {
    last = *each;
    free_now(on, last);
  }
}

void put_memory_calls(driver::table& into) {
  into.mem_alloc = never_throws<&mem_alloc>;
  into.mem_free = never_throws<&mem_free>;
  into.mem_alloc_async = never_throws<&mem_alloc_async>;
  into.mem_free_async = never_throws<&mem_free_async>;
  into.mem_get_info = never_throws<&mem_get_info>;
}

}  // namespace flotilla::isolated
