// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports user code that stalls a device for too long.

#include <atomic>
#include <chrono>
#include <string>

namespace flotilla::dispatch {

/// Each report is made at most once for each runtime: a program that blocks in one callable usually
/// blocks in many. The times are measured by the thread that runs the user code, so the report does
/// not depend on when other threads run. Threads: any.
class slow_call_report {
 public:
  using duration = std::chrono::steady_clock::duration;

  /// @param limit  Calls that take longer are reported. Zero or less: no reports.
  explicit slow_call_report(duration limit) noexcept : limit_(limit) {}

  /// @param describe  Returns a description of the callable and its device. Called only for a
  /// report.
  template <class Describe>
  void note_callable(duration took, Describe const& describe) noexcept {
    if (!is_slow(took)) [[likely]] { return; }
    if (callable_reported_.exchange(true, std::memory_order_relaxed)) { return; }
    try {
      report_callable(took, describe());
    } catch (...) { report_callable(took, "a callable"); }  // not enough memory for the text
  }
  /// Notes a continuation that ran on a thread that drives devices.
  void note_continuation(duration took) noexcept;

 private:
  [[nodiscard]] bool is_slow(duration took) const noexcept {
    return took > limit_ && limit_ > duration::zero();
  }
  static void report_callable(duration took, std::string const& what) noexcept;

  duration const limit_;
  std::atomic<bool> callable_reported_{false};
  std::atomic<bool> continuation_reported_{false};
};

}  // namespace flotilla::dispatch
