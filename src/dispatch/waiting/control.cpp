// Control operations: what needs a context but is no task.
#include <cstdio>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void core::control(unsigned device, std::function<void(device_queue&)> const& operation) {
  check_process();
  device_queue& queue = *devices_[device];
  auto const run = [&] {
    context::current_scope const scope{queue.gate};
    operation(queue);
  };
  if (queue.gate.held_by_this_thread()) {  // inside a callable of this device
    run();
    return;
  }
  std::optional<context::lease> held;
  if (callable_frame::innermost(*this) != nullptr) {
    // This thread keeps another device's lease while it waits, so it looks for a ring of such waits.
    while (!held) {
      check_deadlock_on_lease(device);
      auto got = queue.gate.take_until(std::chrono::steady_clock::now() + std::chrono::milliseconds{1});
      if (got) { held.emplace(std::move(*got)); }
    }
    say_waiting_for(0);
  } else {
    held.emplace(queue.gate.take());
  }
  second_look const after{*this, queue, held};
  run();
}

void core::flush_printf() {
  check_process();
  if (callable_frame::innermost(*this) != nullptr) {
    throw would_deadlock("flush_printf inside a callable: it waits for all that its device is at, this callable's stream "
                         "included");
  }
  for (unsigned i = 0; i < devices_.size(); ++i) {
    if (is_poisoned()) { std::rethrow_exception(poison_->error); }
    control(i, [&](device_queue& queue) {
      CUresult const answer = queue.context.api().ctx_synchronize();
      note(answer, queue);
      driver::check(answer, "cuCtxSynchronize", queue.context.subject());
    });
  }
  std::fflush(stdout);  // where the driver put it into the C library's buffer
}

std::uintptr_t core::allocate(unsigned device, std::size_t bytes) {
  CUdeviceptr address = 0;
  CUresult answer = CUDA_SUCCESS;
  auto const attempt = [&](device_queue& queue) {
    driver::table const& api = queue.context.api();
    queue.free_unused();
    // In a stream of its own, which is empty but for this: the wait is for the allocation alone.
    answer = api.mem_alloc_async(&address, bytes, queue.memory_stream_);
    if (answer == CUDA_SUCCESS) { answer = api.stream_synchronize(queue.memory_stream_); }
  };
  control(device, attempt);
  if (answer == CUDA_ERROR_OUT_OF_MEMORY && !unused.empty() && callable_frame::innermost(*this) == nullptr) {
    // What was given up and is still in use may be room enough: worth waiting for before giving up.
    wait_until_idle(unused.close_epoch());
    control(device, attempt);
  }
  note(answer, *devices_[device]);
  driver::check(answer, "cuMemAllocAsync", [&] {
    return std::to_string(bytes) + " bytes, " + devices_[device]->context.subject();
  });
  return static_cast<std::uintptr_t>(address);
}

std::uintptr_t core::allocate_host(std::size_t bytes) {
  void* memory = nullptr;
  CUresult answer = CUDA_SUCCESS;
  auto const attempt = [&](device_queue::waiting how) {
    control(0, [&](device_queue& queue) {
      queue.free_unused(how);
      answer = queue.context.api().mem_host_alloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    });
  };
  attempt(device_queue::waiting::avoided);
  if (answer == CUDA_ERROR_OUT_OF_MEMORY && !unused.empty() && callable_frame::innermost(*this) == nullptr) {
    wait_until_idle(unused.close_epoch());  // as above
    attempt(device_queue::waiting::allowed);
  }
  note(answer, *devices_[0]);
  driver::check(answer, "cuMemHostAlloc", [&] { return std::to_string(bytes) + " bytes of pinned host memory"; });
  return reinterpret_cast<std::uintptr_t>(memory);
}

void core::release(limbo::kinds kind, unsigned device, std::uintptr_t address, std::size_t bytes) noexcept {
  if (fork_generation_ != base::fork_generation()) { return; }
  unused.put({.kind = kind, .device = device, .address = address, .bytes = bytes});
  // Whoever drains next frees it. With nothing open it can go at once, if the lease is to be had.
  device_queue& queue = *devices_[device];
  if (has_open_tasks() || is_poisoned()) { return; }
  if (std::optional<context::lease> held = queue.gate.try_take()) {
    second_look const after{*this, queue, held};
    try {
      context::current_scope const scope{*held};
      queue.free_unused(device_queue::waiting::allowed);  // for nothing
    } catch (error const&) {
      // The context cannot be made current: its memory goes with it.
    }
  }
}

}  // namespace flotilla::dispatch
