// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/pollers.hpp"

#include <chrono>

#include "base/thread_pin.hpp"

namespace flotilla::dispatch {

namespace {
// The pause after which the thread looks whether somebody has polled. It doubles while nothing
// moves: other processes need answers, but a thread without pauses would take a processor, and a
// lock of MPI, from the threads that compute.
constexpr std::chrono::microseconds first_pause{50};
constexpr std::chrono::microseconds longest_pause{1000};
}  // namespace

void pollers::add(pollable& what) {
  {
    std::lock_guard const lock{mutex_};
    all_.push_back(&what);
    count_.store(all_.size(), std::memory_order_release);
  }
  try {
    std::lock_guard const lock{thread_mutex_};
    if (!thread_.joinable()) {
      thread_ = base::start_thread([this] { run(); });
    }
  } catch (...) {
    remove(what);
    throw;
  }
}

void pollers::remove(pollable& what) noexcept {
  std::size_t left = 0;
  {
    std::lock_guard const lock{mutex_};
    std::erase(all_, &what);
    left = all_.size();
    count_.store(left, std::memory_order_release);
  }
  if (left == 0) { stop_thread(true); }
}

void pollers::stop_thread(bool if_unused) noexcept {
  std::lock_guard const lock{thread_mutex_};
  // Another thread may have added something since.
  if (!thread_.joinable() || (if_unused && count_.load(std::memory_order_acquire) != 0)) { return; }
  if (process_ != base::fork_generation()) {  // a child of fork() has no such thread
    thread_.detach();
    return;
  }
  {
    std::lock_guard const sleeping{sleep_mutex_};
    stops_ = true;
  }
  wake_.notify_all();
  thread_.join();
  stops_ = false;
}

void pollers::run() noexcept {
  std::chrono::microseconds pause = first_pause;
  std::uint64_t seen = 0;
  std::unique_lock lock{sleep_mutex_};
  while (!wake_.wait_for(lock, pause, [this] { return stops_; })) {
    lock.unlock();
    bool const is_needed = seen == looks_.load(std::memory_order_relaxed);
    bool const has_moved = is_needed && poll();
    pause = has_moved ? first_pause : std::min(2 * pause, longest_pause);
    seen = looks_.load(std::memory_order_relaxed);
    lock.lock();
  }
}

}  // namespace flotilla::dispatch
