// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that start a function at the same time and wait for each other at the end. The threads
// live as long as their fixture, so that flotilla, oneTBB and the driver create their per-thread
// state only once.

#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace flotilla::bench {

class thread_team {
 public:
  /// @param members  The number of threads, including the thread that calls `run`; at least 1.
  explicit thread_team(int members);
  ~thread_team();
  thread_team(thread_team const&) = delete;
  thread_team& operator=(thread_team const&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(failures_.size()); }

  /// Calls `body(i)` concurrently for every i in [0, size()), each on its own thread. The calling
  /// thread runs `body(0)`. Returns when all calls have returned. If calls threw exceptions,
  /// rethrows one of them.
  void run(std::function<void(int)> const& body);

 private:
  void serve(int member) noexcept;
  void call(int member) noexcept;

  std::vector<std::exception_ptr> failures_;  // element i is written by member i
  std::barrier<> start_;
  std::barrier<> finish_;
  // The function to call. `run` sets it before the threads pass `start_`. Null tells the threads to
  // end.
  std::function<void(int)> const* body_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace flotilla::bench
