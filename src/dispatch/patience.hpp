#pragma once
// How long a thread has waited without anything moving, and what follows from that.

#include <chrono>

#include "dispatch/drainer.hpp"

namespace flotilla::dispatch {

/// Of one wait.
class patience {
 public:
  explicit patience(bool single_threaded) noexcept;
  /// As whom to help.
  [[nodiscard]] drainer who() const noexcept;
  /// Whether to ask the streams whether they are well: every 5 ms.
  [[nodiscard]] bool time_to_ask() noexcept;
  /// Whether to mark what the task waits for as wanted: at once, then ever more seldom. A chain can be long, and those who
  /// launch its tasks write into the same lines.
  [[nodiscard]] bool time_to_mark() noexcept;
  void moved() noexcept;
  /// Since the last move.
  [[nodiscard]] unsigned round() noexcept { return ++round_; }

 private:
  bool single_threaded_;
  std::chrono::steady_clock::time_point last_move_;
  std::chrono::steady_clock::time_point next_question_;
  std::chrono::steady_clock::time_point next_marks_{};
  std::chrono::steady_clock::duration between_marks_ = std::chrono::microseconds{1};
  unsigned round_ = 0;
};

}  // namespace flotilla::dispatch
