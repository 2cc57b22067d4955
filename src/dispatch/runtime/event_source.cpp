// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/event_source.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "base/thread_pin.hpp"

namespace flotilla::dispatch {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The thread looks at intervals of an eighth of the time since a task was last submitted or ended.
// So it sees the end of a task late by at most an eighth of the task's time, and long tasks cost
// little processor time.
constexpr int looks_per_duration = 8;
constexpr microseconds min_nap{20};
constexpr microseconds max_nap{1000};
// During a longer nap, new work wakes the thread.
constexpr microseconds max_deaf_nap{100};

// The events whose pump runs on this thread.
thread_local event_source const* pumped_here = nullptr;

}  // namespace

int event_source::descriptor() {
  std::lock_guard const lock{start_mutex_};
  if (!started_.load(std::memory_order_relaxed)) {
    signal_ = std::make_unique<event_signal>();
    thread_ = base::start_thread([this] { run(); });
    started_.store(true, std::memory_order_seq_cst);
    bell_.set_listener(this);
    // Other threads told nobody about earlier events.
    signal_->raise();
  }
  return signal_->descriptor();
}

void event_source::stop() noexcept {
  if (!thread_.joinable()) { return; }
  bell_.remove_listener();
  {
    std::lock_guard const lock{mutex_};
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
  started_.store(false, std::memory_order_seq_cst);
  signal_.reset();
}

event_source::pumping::pumping(event_source& events) noexcept
    // acquire: pairs with the store in `descriptor`
    : events_(events.started_.load(std::memory_order_acquire) ? &events : nullptr) {
  if (events_ == nullptr) { return; }
  outer_ = std::exchange(pumped_here, events_);
  events_->signal_->clear();
}

event_source::pumping::~pumping() {
  if (events_ == nullptr) { return; }
  pumped_here = outer_;
  // `pump` runs no continuations inside a callable or continuation, and at most 64 of them.
  bool const is_work_left =
      events_->continuations_.any_due() || (moved_ && events_->devices_.work_pending());
  if (is_work_left) {
    events_->signal_->raise();
  } else {
    events_->lease_released();  // the thread may have slept because the signal was raised
  }
}

void event_source::work_announced() noexcept {
  has_new_work_.store(true, std::memory_order_relaxed);
  signal_->raise();
}

void event_source::continuation_changed() noexcept {
  // If this thread pumps, it runs the continuation itself, or raises the signal at the end.
  if (pumped_here != this && continuations_.any_due()) { signal_->raise(); }
}

void event_source::task_ended() noexcept {
  // The caller of `pump` knows that tasks may have ended during the call.
  if (pumped_here != this) { signal_->raise(); }
}

void event_source::lease_released() noexcept {
  // Pairs with the store in sleep_until_needed: the caller has published what the thread must
  // watch, or has cleared the signal.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) { wake(); }
}

void event_source::wake() noexcept {
  std::lock_guard const lock{mutex_};
  asleep_.store(false, std::memory_order_seq_cst);
  changed_.notify_one();
}

bool event_source::must_watch() const noexcept {
  return !signal_->is_raised() && !shared_.faults.is_poisoned() &&
         (devices_.any_batches() || devices_.work_pending() || shared_.overdue.any_watched());
}

bool event_source::sleep_until_needed() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    asleep_.store(true, std::memory_order_seq_cst);
    if (must_watch()) {
      asleep_.store(false, std::memory_order_seq_cst);
      return true;
    }
    changed_.wait(lock);
  }
  return false;
}

bool event_source::nap(clock::duration time) {
  if (time <= max_deaf_nap) {
    std::this_thread::sleep_for(time);
    return true;
  }
  std::unique_lock lock{mutex_};
  if (stopping_) { return false; }
  asleep_.store(true, std::memory_order_seq_cst);
  if (!has_new_work_.load(std::memory_order_relaxed)) { changed_.wait_for(lock, time); }
  asleep_.store(false, std::memory_order_seq_cst);
  return !stopping_;
}

void event_source::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "flotilla-events");
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // in ns; the default of 50 us would treble the shortest nap
  auto since = clock::now();        // when a task was last submitted or ended
  auto next_health_poll = since + fault_monitor::poll_interval;
  while (sleep_until_needed()) {
    auto const now = clock::now();
    if (has_new_work_.exchange(false, std::memory_order_relaxed)) { since = now; }
    if (devices_.any_ended() || shared_.overdue.any_due()) {
      since = now;
      signal_->raise();
      continue;
    }
    // A kernel that has faulted never writes its completion number, so ask for errors.
    if (now > next_health_poll) {
      shared_.faults.poll_health();
      next_health_poll = now + fault_monitor::poll_interval;
    }
    auto const time =
        std::clamp<clock::duration>((now - since) / looks_per_duration, min_nap, max_nap);
    if (!nap(time)) { return; }
    // Work is left that makes progress only when a device or other code does. So let the loop check
    // for progress, but not directly after it has done so, when the thread was woken early.
    bool const is_time_over = clock::now() - now >= time;
    if (is_time_over && devices_.work_pending() && !devices_.any_ended()) { signal_->raise(); }
  }
}

}  // namespace flotilla::dispatch
