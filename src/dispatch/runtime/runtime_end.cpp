// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How a runtime ends.
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>
#include <stop_token>
#include <thread>

#include "base/log.hpp"
#include "base/process_end.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns whether the driver has shut down, because the process ends. It has then freed
/// everything. This is normal for a runtime in a global object, which is older than the driver.
bool is_deinitialized(std::exception const& why) noexcept {
  auto const* const of_driver = dynamic_cast<driver_error const*>(&why);
  return of_driver != nullptr && of_driver->status() == driver_status::deinitialized;
}

/// Returns until when to wait for another thread, which may be inside a callable or sleep until the
/// process has ended. Null: as long as necessary.
std::optional<std::chrono::steady_clock::time_point> max_wait(bool process_ends) noexcept {
  if (!process_ends) { return std::nullopt; }
  return std::chrono::steady_clock::now() + std::chrono::milliseconds{100};
}

/// Takes the lease of a device. If another thread keeps it although the process ends, returns
/// nothing, and the device is left as it is.
std::optional<context::lease> take_lease(context::lease_gate& gate, bool process_ends) noexcept {
  auto const until = max_wait(process_ends);
  return until ? gate.take_until(*until) : gate.take();
}

/// Waits until the streams of all devices are empty or unusable. A part of a replay may have
/// lowered a word after the runtime was poisoned, and another part may wait for that word. And if
/// the driver has refused to write the number of a batch, nobody else raises it any more, and
/// batches of other lanes may wait for it. Uses no thread: there may be no memory for one. A device
/// that another thread keeps although the process ends is left as it is.
void empty_streams(device_set const& devices, progress_words& progress,
                   bool process_ends) noexcept {
  bool is_busy = true;
  while (is_busy) {
    progress.raise_all();
    is_busy = false;
    for (unsigned i = 0; i < devices.size(); ++i) {
      static_cast<void>(devices[i].streams().query());
      std::optional<context::lease> const lease = take_lease(devices[i].gate(), process_ends);
      is_busy = (lease && devices[i].streams().any_busy()) || is_busy;
    }
    if (is_busy) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
  }
}

/// Waits for the kernels of all devices. Call it before memory is freed, because kernels may use
/// memory of other devices.
void wait_for_kernels(device_set const& devices, bool process_ends) noexcept {
  for (unsigned i = 0; i < devices.size(); ++i) {
    std::optional<context::lease> lease = take_lease(devices[i].gate(), process_ends);
    if (!lease) { continue; }
    try {
      context::current_scope const scope{*lease};
      devices[i].context().api().ctx_synchronize();
    } catch (std::exception const&) {
      // The context cannot be made current, so the driver is unusable.
    }
  }
}

}  // namespace

void runtime_state::end(runtime_state& runtime) noexcept {
  // In a child of fork(), the other threads that used the runtime do not exist. So use nothing of
  // the runtime.
  if (runtime.usage.is_forked()) { return; }
  detail::interruptible_waits const never{nullptr, nullptr};
  runtime.usage.close();
  // User code inside a callable or continuation can end a static runtime by calling std::exit. The
  // shutdown would wait for that user code, and that user code waits for the shutdown.
  if (is_inside_user_code(runtime)) {
    base::log_format(
        log_level::error,
        "a runtime was destroyed inside one of its own callables or "
        "continuations (std::exit destroys static objects): its open tasks are abandoned "
        "and its memory is not freed");
    return;
  }
  // If this thread ends the process, other threads may still use the runtime. So they find it
  // closed, but in memory, and wait for leases that they never get.
  bool const is_kept = base::this_thread_ends_process();
  runtime.shut_down(is_kept);
  runtime.has_ended_.store(true, std::memory_order_relaxed);
  if (!is_kept && runtime.ticket_count_.close()) { delete &runtime; }
}

void runtime_state::drop_ticket(runtime_state& runtime, slot_address slot,
                                std::uint64_t generation) noexcept {
  if (runtime.usage.is_forked()) { return; }
  if (runtime.ticket_count_.drop(slot, generation)) { delete &runtime; }
}

void runtime_state::destroy_callables() noexcept {
  tasks_.for_each_held([this](slot_address task) {
    slot& one = tasks_.at(task);
    if (one.kind == task_kind::callable && std::exchange(one.holds_callable, false)) {
      std::destroy_at(&held_in<callable>(one));
    }
    return true;
  });
}

void runtime_state::shut_down(bool is_kept) noexcept {
  continuations.end();
  if (threads_ != nullptr) { threads_->stop(); }
  workers.stop(max_wait(is_kept));
  events.stop();
  overdue_.stop();
  if (!is_kept) { default_flow.destroy(); }
  bool const is_poisoned = faults_.is_poisoned();
  stream_waits.finish(is_poisoned);
  traces.end();
  // On a poisoned driver, some callables never run. Destroy these callables here, unless another
  // thread may still be inside one of them.
  if (is_poisoned && !is_kept) { destroy_callables(); }
  // Lack of host memory also poisons the runtime. Then kernels may still use the memory that is
  // freed below, so wait for the kernels. After a fault, no kernel runs any more.
  if (is_poisoned) {
    empty_streams(devices, *progress_, is_kept);
    wait_for_kernels(devices, is_kept);
  }
  // No task is left, so retired memory and the programs are no longer used.
  for (unsigned i = 0; i < devices.size(); ++i) {
    std::optional<context::lease> lease = take_lease(devices[i].gate(), is_kept);
    if (!lease) { continue; }
    // Tickets outlive the runtime, and may ask whether a batch has ended.
    board_.events_of(i).forget();
    try {
      context::current_scope const scope{*lease};
      devices[i].free_unused(deferred_free::blocking::allowed);
      if (i == host_device_) {
        stream_waits.destroy();
        chunks_.back().unregister();
      }
      chunks_[i].unregister();
      devices[i].destroy_resources();
    } catch (std::exception const& why) {
      if (!is_poisoned && !is_deinitialized(why)) { base::log(log_level::error, why.what()); }
    }
    // Count while this thread holds the lease. Otherwise another thread might have ended a task
    // without having counted the task's ticket yet.
    if (is_poisoned) { ticket_count_.count_open(i); }
    if (is_kept) { kept_leases_[i].emplace(std::move(*lease)); }
  }
  if (is_poisoned) { ticket_count_.count_open(std::nullopt); }
  // Unload programs after the graphs that use their kernels were destroyed. A library belongs to no
  // context, so unloading works even if no context can be made current.
  programs.unload_all();
  // Destroy the context of the host device last, because all pinned memory belongs to this context.
  // On a poisoned driver, kernels of the other devices may use pinned memory until their contexts
  // are destroyed.
  for (std::size_t i = contexts_.size(); i-- > 0;) {
    if (i != host_device_) { contexts_[i].context.destroy(); }
  }
  contexts_[host_device_].context.destroy();
}

}  // namespace flotilla::dispatch
