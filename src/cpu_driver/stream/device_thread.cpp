// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/device_thread.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/pause.hpp"
#include "base/thread_pin.hpp"
#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/stream/context_resources.hpp"
#include "cpu_driver/stream/execute.hpp"
#include "cpu_driver/stream/legacy_stream_order.hpp"
#include "cpu_driver/stream/stream_group.hpp"
#include "cpu_driver/stream/stream_task.hpp"

namespace flotilla::cpu_driver {
namespace {

using namespace std::chrono_literals;

// While streams wait for values in memory, the device thread polls the values once per this number
// of operations.
constexpr int operations_per_poll = 64;
// How long the device thread spins before it sleeps: for the longer time if its last pause was
// shorter than that. Waking a sleeping device thread costs the submitting thread 1 to 2 us, or 20
// us if both have only one processor: the device thread then runs before all of the work is
// submitted.
constexpr auto short_spin = 20us;
constexpr auto long_spin = 160us;
constexpr auto min_poll_interval = 20us;
constexpr auto max_poll_interval = 500us;

/// Whether the operation waits for a value in memory. Nothing wakes the device thread when such a
/// value changes.
bool needs_polling(operation const& head) noexcept {
  auto const* const run = std::get_if<run_task>(&head.what);
  return std::holds_alternative<wait_value>(head.what) ||
         (run != nullptr && run->task->needs_polling());
}

/// Whether the operation takes much less time than a kernel. GPUs execute such operations beside
/// kernels.
bool is_short(operation const& head) noexcept {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;
  if (auto const* const copy = std::get_if<copy_bytes>(&head.what)) {
    return copy->bytes <= max_bytes;
  }
  return std::holds_alternative<record_event>(head.what) ||
         std::holds_alternative<wait_event>(head.what) ||
         std::holds_alternative<write_value>(head.what) ||
         std::holds_alternative<wait_value>(head.what);
}

// The streams of a level take turns. A turn ends with a kernel, or after so many short operations:
// if each copy took a turn, it would wait for a kernel of each other stream.
constexpr int max_operations_per_turn = 32;

}  // namespace

void device_thread::start() {
  std::call_once(started_, [this] { thread_ = base::start_thread([this] { run(); }); });
}

void device_thread::stop() noexcept {
  if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) { return; }
  stopping_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wake();
  thread_.join();
}

void device_thread::release_after_pending(deferred_release::entry object) noexcept {
  destroy_released();
  deferred_.add(std::move(object));
  wake();
}

void device_thread::destroy_released() noexcept { deferred_.destroy_released(); }

void device_thread::wait_for_abandon() noexcept {
  start();
  std::uint64_t const asked = asked_to_abandon_.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake();
  while (abandoned_.load(std::memory_order_acquire) < asked) { std::this_thread::yield(); }
}

void device_thread::run() noexcept {
  while (true) {
    // Another thread writes what it asks for and then calls wake(). This thread must take the call
    // first and then read what was asked. In the other order, it could take the call and miss the
    // request, and then sleep for ever.
    recheck_ |= inbox_.take_wake();
    // acquire: pairs with the release in stop()
    if (stopping_.load(std::memory_order_acquire)) { break; }
    // acquire: pairs with the release in wait_for_abandon, so this round sees the fault
    std::uint64_t const asked = asked_to_abandon_.load(std::memory_order_acquire);
    take_arrivals();
    if (fault::status(device_) != CUDA_SUCCESS) { abandon_all(); }
    abandoned_.store(asked,
                     std::memory_order_release);  // pairs with the acquire in wait_for_abandon
    if ((recheck_ || since_poll_ >= operations_per_poll) && !waiting_.empty()) {
      recheck_waiting();
    }
    recheck_ = false;
    if (!run_one()) { idle(); }
  }
  take_arrivals();
  abandon_all();
  recycler_.flush();
}

void device_thread::take_arrivals() noexcept {
  operation* oldest = inbox_.take_all();
  while (oldest != nullptr) {
    operation& added = *oldest;
    oldest = added.next;
    arrive(added);
  }
}

void device_thread::arrive(operation& added) noexcept {
  stream& target = *added.where;
  added.next = nullptr;
  target.group_.order().arrive(target, added);
  if (target.head_ != nullptr) {
    target.tail_->next = &added;
    target.tail_ = &added;
    return;
  }
  target.head_ = target.tail_ = &added;
  level_of(target).append(target);
}

stream_list& device_thread::level_of(stream const& target) noexcept {
  return ready_[static_cast<std::size_t>(target.priority_ - stream::greatest_priority)];
}

bool device_thread::run_one() noexcept {
  for (stream_list& level : ready_) {
    while (stream* const chosen = level.take_first()) {
      if (may_start(*chosen, *chosen->head_)) {
        for (int left = max_operations_per_turn; left > 0; --left) {
          bool const may_go_on = is_short(*chosen->head_);
          if (!run_head(*chosen)) { return true; }
          if (!may_go_on || !may_start(*chosen, *chosen->head_)) { break; }
        }
        level.append(*chosen);
        return true;
      }
      if (needs_polling(*chosen->head_)) { ++waiting_for_values_; }
      waiting_.append(*chosen);
    }
  }
  return false;
}

bool device_thread::run_head(stream& chosen) noexcept {
  operation& head = *chosen.head_;
  poll_interval_ = min_poll_interval;
  ++since_poll_;
  if (std::holds_alternative<close_stream>(head.what)) {
    close(chosen);
    return false;
  }
  placement_.allowed = &chosen.group_.allowed();
  CUresult const status = execute(head, {chosen.resources(), device_, placement_});
  if (status != CUDA_SUCCESS) {
    // No operation may run after a fault. Put the stream back into its ready list, where
    // abandon_all() finds the stream.
    fault::raise(status, device_);
    level_of(chosen).append(chosen);
    return false;
  }
  // Other streams of this device may wait for this event or value.
  recheck_ |= std::holds_alternative<record_event>(head.what) ||
              std::holds_alternative<write_value>(head.what);
  if (auto const* const run = std::get_if<run_task>(&head.what)) {
    recheck_ = true;
    if (!run->task->finished()) {
      return true;  // run_one() checks later whether the task may continue
    }
    run->task->end();
  }
  complete_head(chosen);
  return chosen.head_ != nullptr;
}

bool device_thread::may_start(stream& candidate, operation& head) noexcept {
  if (!candidate.group_.order().may_start(candidate, head)) { return false; }
  if (auto* const wait = std::get_if<wait_event>(&head.what)) { return wait->record->watch(); }
  if (auto* const wait = std::get_if<wait_value>(&head.what)) { return satisfied(*wait); }
  if (auto* const run = std::get_if<run_task>(&head.what)) { return run->task->may_continue(); }
  return true;
}

bool device_thread::recheck_waiting() noexcept {
  since_poll_ = 0;
  waiting_for_values_ = 0;
  bool any = false;
  stream_list candidates = std::exchange(waiting_, {});
  while (stream* const next = candidates.take_first()) {
    if (may_start(*next, *next->head_)) {
      level_of(*next).append(*next);
      any = true;
    } else {
      if (needs_polling(*next->head_)) { ++waiting_for_values_; }
      waiting_.append(*next);
    }
  }
  return any;
}

void device_thread::complete_head(stream& target) noexcept {
  operation& ended = *target.head_;
  target.head_ = ended.next;
  recheck_ |= target.group_.order().complete(target);
  // Another thread may now see that the stream is idle and destroy it. The stream stays valid here:
  // only this thread ends a stream, when it runs the operation close_stream. release: pairs with
  // the acquire in stream::idle()
  target.completed_.store(target.completed_.load(std::memory_order_relaxed) + 1,
                          std::memory_order_release);
  latch* reached = nullptr;
  if (auto* const passed = std::get_if<reach_latch>(&ended.what)) { reached = passed->reached; }
  recycler_.add(ended);
  if (reached != nullptr) {
    recycler_.flush();
    reached->count_down();  // last: the waiting thread may end the context at once
  }
}

void device_thread::close(stream& ended) noexcept {
  stream_group& group = ended.group_;
  group.order().leave(ended);
  ended.head_ = nullptr;
  recheck_ = true;  // the NULL stream may wait for the end of this stream
  if (ended.self_ != nullptr) { stream::table().finish(ended.self_); }
  group.open_streams().count_down();
}

void device_thread::abandon_all() noexcept {
  for (stream_list& level : ready_) {
    while (stream* const next = level.take_first()) { abandon_queue(*next); }
  }
  while (stream* const next = waiting_.take_first()) { abandon_queue(*next); }
  waiting_for_values_ = 0;
}

void device_thread::abandon_queue(stream& target) noexcept {
  while (operation* const head = target.head_) {
    if (std::holds_alternative<close_stream>(head->what)) {
      close(target);
      return;
    }
    abandon(*head);
    complete_head(target);
  }
}

void device_thread::idle() noexcept {
  recycler_.flush();
  deferred_.collect();
  if (waiting_.empty() && inbox_.empty()) { deferred_.release_collected(); }
  auto const begun = std::chrono::steady_clock::now();
  if (!spin(begun + (was_pause_short_ ? long_spin : short_spin))) { sleep(); }
  was_pause_short_ = std::chrono::steady_clock::now() - begun < long_spin;
}

bool device_thread::spin(std::chrono::steady_clock::time_point end) noexcept {
  do {
    for (int i = 0; i < 32; ++i) {
      if (inbox_.called()) { return true; }
      base::pause();
    }
    if (waiting_for_values_ > 0 && recheck_waiting()) { return true; }
    std::this_thread::yield();  // a submitting thread may need this core
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void device_thread::sleep() noexcept {
  if (waiting_for_values_ == 0) {
    inbox_.sleep(std::nullopt);
    return;
  }
  inbox_.sleep(poll_interval_);
  poll_interval_ = std::min<std::chrono::microseconds>(poll_interval_ * 2, max_poll_interval);
  recheck_ = true;
}

}  // namespace flotilla::cpu_driver
