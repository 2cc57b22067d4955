#pragma once
// How long nothing has moved while a thread waits, and what the thread does because of that.

#include <chrono>

#include "dispatch/device/helper.hpp"

namespace flotilla::dispatch {

/// The state of one wait, on the stack of the waiting thread.
class backoff {
 public:
  using clock = std::chrono::steady_clock;
  /// @param now  Tests pass their own time, here and below.
  explicit backoff(bool single_threaded, clock::time_point now = clock::now()) noexcept;
  /// The callables that this thread may run while it helps.
  [[nodiscard]] helper_filter filter(clock::time_point now = clock::now()) const noexcept;
  /// Whether to ask the streams for errors now: every 5 ms.
  [[nodiscard]] bool should_poll_health(clock::time_point now = clock::now()) noexcept;
  /// Whether to mark the task as demanded now: at once, then ever more rarely. A chain can be long,
  /// and the threads that launch its tasks write to the same lines.
  [[nodiscard]] bool should_propagate(clock::time_point now = clock::now()) noexcept;
  /// Call it when something has moved.
  void reset(clock::time_point now = clock::now()) noexcept;
  /// Counts an idle round. @return the rounds since something moved.
  [[nodiscard]] unsigned next_round() noexcept { return ++round_; }

 private:
  bool const single_threaded_;
  clock::time_point last_move_;
  clock::time_point next_poll_;
  clock::time_point next_propagation_{};
  clock::duration propagation_interval_ = std::chrono::microseconds{1};
  unsigned round_ = 0;
};

}  // namespace flotilla::dispatch
