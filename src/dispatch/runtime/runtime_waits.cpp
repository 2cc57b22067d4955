// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How programs wait for tasks of a runtime, and drive its devices meanwhile.
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>

#include <flotilla/error/error.hpp>

#include "base/process_end.hpp"
#include "dispatch/runtime/runtime_state.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

bool runtime_state::is_inside_callable() const noexcept {
  return callable_frame::innermost(number) != nullptr;
}

bool is_inside_user_code(runtime_state const& of) noexcept {
  return callable_frame::innermost(of.number) != nullptr || of.runner.inside();
}

bool runtime_state::ready(task_id const& id) {
  usage.check_process();
  bool ended = query.has_ended(id);
  if (!ended) { pollers_.poll(); }
  if (!ended && shared_.single_threaded && !is_inside_callable()) {
    pump(false);
    ended = query.has_ended(id);
  }
  if (ended) { note_end(checks.get(), id); }
  return ended;
}

bool runtime_state::wait(task_id const& id, std::optional<wait_policy> policy,
                         waiter::deadline until) {
  usage.check_process();
  {
    ticket_wait wait{waits, deadlocks, id, policy};
    if (!waits.until(wait, until)) { return false; }
  }
  note_end(checks.get(), id);
  if (auto const why = query.failure_of(id)) {
    base::yield_to_process_end();
    std::rethrow_exception(why->error);
  }
  return true;
}

std::optional<std::size_t> runtime_state::wait_any(std::span<task_id const> ids,
                                                   waiter::deadline until) {
  usage.check_process();
  any_wait wait{waits, ids};
  if (!wait.done() && is_inside_callable()) {
    throw would_deadlock(
        "a callable cannot wait for the first of several tasks, because these tasks may depend on "
        "the callable; instead of waiting, submit the remaining work with `after` or use `then`");
  }
  if (!waits.until(wait, until)) { return std::nullopt; }
  note_end(checks.get(), ids[wait.first()]);
  return wait.first();
}

void runtime_state::wait_idle() {
  usage.check_process();
  if (is_inside_user_code(*this)) {
    throw would_deadlock(
        "wait_idle is not allowed inside a callable or continuation, because it waits for all "
        "callables and continuations, this one included; call wait_idle after it has ended");
  }
  continuations.wait_until_idle();
}

bool runtime_state::pump(bool clears_events) {
  usage.check_process();
  std::optional<event_source::pumping> pumping;
  if (clears_events) { pumping.emplace(events); }
  task_number const next = checks == nullptr ? 0 : checks->next();
  if (shared_.single_threaded) {
    stuck_.look();
    lost_.look();
  }
  if (overdue_.end_due() && pumping) { pumping->note_progress(); }
  if (pollers_.poll() && pumping) { pumping->note_progress(); }
  for (unsigned i = 0; i < devices.size(); ++i) {
    if (!devices[i].gate().held_by_this_thread()) {
      bool const moved = devices.drain_if_free(devices[i], helper_filter{});
      if (moved && pumping) { pumping->note_progress(); }
    }
  }
  bool has_continuations = false;
  if (!is_inside_user_code(*this)) {
    // The continuations of a task that has faulted become due only after the fault is noticed, so
    // ask the streams for errors. next_poll only limits the rate, so it may be thread_local.
    thread_local std::chrono::steady_clock::time_point next_poll{};
    if (auto const now = std::chrono::steady_clock::now();
        runner.needs_health_polls() && now > next_poll) {
      faults_.poll_health();
      next_poll = now + fault_monitor::poll_interval;
    }
    runner.run();
    has_continuations = runner.any_open();
  }
  bool const any_left = has_continuations || (shared_.any_open() && !faults_.is_poisoned());
  if (checks != nullptr && !any_left) { checks->observed_before(next); }
  if (!any_left) { posted_.print_counts(); }
  return any_left;
}

void runtime_state::pump_if_single_threaded() {
  usage.check_process();
  if (shared_.single_threaded && !is_inside_callable()) { pump(false); }
}

}  // namespace flotilla::dispatch
