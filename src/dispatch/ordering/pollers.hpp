// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What threads must look at from time to time, besides the devices.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fork_guard.hpp"

namespace flotilla::dispatch {

/// Something that makes progress only when a thread calls it, such as the messages of other
/// processes.
class pollable {
 public:
  /// Makes progress, unless another thread does. Runs no user code, and does not block.
  /// @return whether anything has moved.
  virtual bool poll() noexcept = 0;

 protected:
  ~pollable() = default;
};

/// The things that the threads of a runtime poll while they wait, pump or work. While there is one,
/// a thread of this object polls if no other thread has done so for a while. Threads: any.
class pollers {
 public:
  pollers() = default;
  ~pollers() { stop_thread(false); }
  pollers(pollers const&) = delete;
  pollers& operator=(pollers const&) = delete;

  /// @throws std::bad_alloc, std::system_error  No thread could be started.
  void add(pollable& what);
  /// Removes a thing. No thread uses it after the call. The caller must not be inside `poll`.
  void remove(pollable& what) noexcept;
  /// Polls all of them. @return whether anything has moved. Cost: one load if there is none.
  bool poll() noexcept {
    if (count_.load(std::memory_order_acquire) == 0) [[likely]] { return false; }
    return poll_all();
  }

 private:
  [[gnu::noinline]] bool poll_all() noexcept {
    // Another thread that polls is enough.
    std::unique_lock const lock{mutex_, std::try_to_lock};
    if (!lock) { return false; }
    looks_.fetch_add(1, std::memory_order_relaxed);
    bool moved = false;
    for (pollable* const each : all_) { moved = each->poll() || moved; }
    return moved;
  }

  void run() noexcept;
  /// @param if_unused  Does nothing if there is something to poll.
  void stop_thread(bool if_unused) noexcept;

  std::mutex mutex_;
  std::vector<pollable*> all_;  // guarded by mutex_
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> looks_{0};

  std::uint32_t const process_ = base::fork_generation();
  std::mutex thread_mutex_;  // guards the start and the end of the thread
  std::thread thread_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  bool stops_ = false;  // guarded by sleep_mutex_
};

}  // namespace flotilla::dispatch
