// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/continuation_threads.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/thread_pin.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::chrono::seconds max_idle_time{1};
}

continuation_threads::continuation_threads(continuation_table& table, doorbell& bell)
    : table_(table) {
  bell.connect_continuations(
      this, [](void* threads) noexcept { static_cast<continuation_threads*>(threads)->notify(); });
}

continuation_threads::~continuation_threads() { stop(); }

void continuation_threads::notify() noexcept {
  if (!table_.any_due()) { return; }
  std::lock_guard const lock{mutex_};
  provide();
}

void continuation_threads::provide() noexcept {
  if (is_waking_ || is_stopping_) { return; }
  if (idle_ != 0) {
    is_waking_ = true;
    due_.notify_one();
    return;
  }
  auto const found =
      std::find_if(places_.begin(), places_.end(), [](place const& each) { return !each.is_live; });
  if (found == places_.end()) { return; }  // the next thread that becomes free takes the work
  // The thread that had this place has left `serve`, but may still run destructors of thread_local
  // objects of the user. So do not join it here, with the mutex locked.
  found->before = std::move(found->thread);
  try {
    found->thread = base::start_thread([this, &here = *found] { serve(here); });
    found->is_live = true;
    ++live_;
  } catch (std::exception const&) {  // no memory, or the system has no thread for us
    found->thread = std::move(found->before);
  }
  serves_.store(live_ != 0, std::memory_order_seq_cst);
}

void continuation_threads::serve(place& here) noexcept {
  if (here.before.joinable()) { here.before.join(); }
  std::unique_lock lock{mutex_};
  while (true) {
    ++idle_;
    bool const has_work = due_.wait_for(lock, max_idle_time, [this] {
      is_waking_ = false;
      return is_stopping_ || table_.any_due();
    });
    --idle_;
    if (is_stopping_ || !has_work) { break; }
    // This thread may block in user code, so let another thread take what else is due.
    if (table_.due() > 1) { provide(); }
    lock.unlock();
    table_.run_next();
    lock.lock();
  }
  here.is_live = false;
  --live_;
}

void continuation_threads::stop() noexcept {
  {
    std::lock_guard const lock{mutex_};
    is_stopping_ = true;
  }
  due_.notify_all();
  for (place& each : places_) {
    if (each.thread.joinable()) { each.thread.join(); }
  }
}

}  // namespace flotilla::dispatch
