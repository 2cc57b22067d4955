// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits or blocks oneTBB's threads, as an application could do while it uses flotilla.

#include <tbb/global_control.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/hold.hpp"

namespace flotilla::test {

/// The number of oneTBB threads that the largest tests need: 8 workers and the caller.
inline constexpr int max_tbb_threads = 9;

/// While the object lives, oneTBB uses at most `threads` threads, including the caller's.
class parallelism {
 public:
  explicit parallelism(int threads)
      : control_{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)} {}

 private:
  tbb::global_control control_;
};

/// Runs `body` concurrently on `threads` oneTBB threads, one of which is the calling thread.
/// @return false if oneTBB did not provide enough threads within `test_timeout`.
[[nodiscard]] bool on_each_tbb_thread(int threads, std::function<void()> const& body);

/// Blocks `threads` oneTBB threads in a parallel_for while the object lives. Before a thread
/// blocks, it submits callables to a runtime that the object owns, and waits for them.
class tbb_hog {
 public:
  /// Returns when all threads are blocked.
  /// @throws std::runtime_error  oneTBB did not provide enough threads.
  explicit tbb_hog(int threads);
  ~tbb_hog();
  tbb_hog(tbb_hog const&) = delete;
  tbb_hog& operator=(tbb_hog const&) = delete;

 private:
  void occupy(int threads);

  std::atomic<int> blocked_{0};  // number of blocked threads; -1: oneTBB provided too few threads
  latch release_;
  std::thread host_;
};

}  // namespace flotilla::test
