// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures how long a waiting thread has made no progress, and decides how the thread continues.

#include <chrono>

#include "dispatch/device/helper.hpp"

namespace flotilla::dispatch {

/// The progress of one wait. The object is on the stack of the waiting thread.
class backoff {
 public:
  using clock = std::chrono::steady_clock;
  /// @param now  The current time. Tests pass other times to the constructor and to the functions
  /// below.
  explicit backoff(bool single_threaded, clock::time_point now = clock::now()) noexcept;
  /// Returns which callables this thread may run while it helps.
  [[nodiscard]] helper_filter filter(clock::time_point now = clock::now()) const noexcept;
  /// Returns whether to ask the streams for errors now. True after 2 ms, then every 5 ms.
  [[nodiscard]] bool should_poll_health(clock::time_point now = clock::now()) noexcept;
  /// Returns whether to mark the task as demanded now: as a task for which a thread waits. The
  /// first call returns true. Later calls return true at intervals that double up to 1 ms, because
  /// marking writes to every task of a chain, and other threads use those cache lines.
  [[nodiscard]] bool should_propagate(clock::time_point now = clock::now()) noexcept;
  /// Records progress.
  void reset(clock::time_point now = clock::now()) noexcept;
  /// Counts an idle round. @return the number of idle rounds since the last progress.
  [[nodiscard]] unsigned next_round() noexcept { return ++round_; }

  /// The time of the construction.
  [[nodiscard]] clock::time_point begun() const noexcept { return begun_; }

 private:
  bool const single_threaded_;
  clock::time_point const begun_;
  clock::time_point last_move_;
  clock::time_point next_poll_;
  clock::time_point next_propagation_{};
  clock::duration propagation_interval_ = std::chrono::microseconds{1};
  unsigned round_ = 0;
};

}  // namespace flotilla::dispatch
