// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends waits of the library early, for bindings of languages whose signal handlers must run while
/// a thread waits.

#include <chrono>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// While it exists, every wait of this thread inside the library asks about every 50 ms whether it
/// must end. Then the call that waits throws `error`. What it has submitted before stays submitted.
/// Waits of destructors never ask. Such objects can be nested; the innermost one counts.
class FLOTILLA_EXPORT interruptible_waits {
 public:
  using question = bool (*)(void* state) noexcept;
  /// @param must_end  Called as must_end(state). Null: the waits of the block never ask.
  interruptible_waits(question must_end, void* state) noexcept;
  interruptible_waits(interruptible_waits const&) = delete;
  interruptible_waits& operator=(interruptible_waits const&) = delete;
  ~interruptible_waits();

  /// Whether the waits of this thread ask now.
  [[nodiscard]] static bool are_on() noexcept;
  /// Asks, unless less than 50 ms have passed since the last question.
  /// @throws error  The wait must end.
  static void check();

 private:
  question const must_end_;
  void* const state_;
  interruptible_waits* const outer_;
  std::chrono::steady_clock::time_point next_{};  // of the next question; 0 before the first check
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
