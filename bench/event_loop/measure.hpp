// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures an event loop with one thread: how late it answers requests, and its processor time.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace flotilla::bench {

struct durations {
  int rounds = 5;                           // the two loops take turns
  std::chrono::milliseconds busy{500};      // of each round
  std::chrono::microseconds interval{500};  // between two requests
  std::chrono::milliseconds settling{200};  // see settle
  std::chrono::milliseconds max_settling{5'000};
  std::chrono::milliseconds idle{1000};  // duration of the measurement of an idle loop
  /// The shortest possible measurements, which only show that the program works.
  [[nodiscard]] static durations quick();
};

/// The results of one loop. A share is the processor time of the process divided by the elapsed
/// time: 1 means that one processor is busy. Each figure is the median of the rounds.
struct row {
  std::string who;  // "event_fd", or "by_hand" for the control
  std::size_t answered = 0;
  /// Quantiles of the time from the moment when a request is due until its continuation has run in
  /// the loop.
  double p50_us = 0;
  double p99_us = 0;
  double share_busy = 0;  // share while requests arrive
  double share_idle = 0;  // share while none arrives
};

/// Measures both loops in turn. @throws std::runtime_error  A request was lost.
[[nodiscard]] std::vector<row> measure(durations const& durations);

}  // namespace flotilla::bench
