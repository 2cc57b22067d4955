// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the cost of waiting with one wait policy.

#include <chrono>
#include <string>
#include <vector>

#include <flotilla/settings/settings.hpp>

namespace flotilla::bench {

/// The number of tasks and the durations of the measurements.
struct durations {
  int lone = 2000;  // maximum number of lone tasks: each is submitted while no other task is open
  std::chrono::milliseconds max_lone{1000};  // time limit for all lone tasks
  std::chrono::milliseconds waiting{1000};   // duration of each measurement of a waiting thread
  /// The process counts as idle if only the measuring thread has run during this time. By then,
  /// workers have usually ended, and oneTBB's threads usually sleep.
  std::chrono::milliseconds settling{200};
  std::chrono::milliseconds max_settling{5'000};  // maximum time to wait until the process is idle
  std::chrono::milliseconds idle{1000};           // duration of the measurement of an idle process
  /// The shortest possible measurements, which only show that the program works.
  [[nodiscard]] static durations quick();
};

/// The results for one wait policy. A share is the processor time of the process divided by the
/// elapsed time: 1 means that one processor is busy.
struct row {
  flotilla::wait_policy schedule;
  std::string who;  // "flotilla", or "driver" for the control
  /// Quantiles of the time of a lone empty task, from submit until the submitting thread sees the
  /// end.
  double p50_us = 0;
  double p99_us = 0;
  double share_50us = 0;  // share while a thread waits for kernels of 50 us, one after another
  double share_5ms = 0;   // share while a thread waits for kernels of 5 ms
  /// Share of the threads that do not measure, while there are no tasks, after the workers have
  /// ended.
  double share_idle = 0;
};

/// Measures `ticket::wait` on the first device with the wait policy `policy`.
[[nodiscard]] row measure_flotilla(wait_policy policy, durations const& durations);
/// Measures launches and cuStreamSynchronize in a context with the scheduling flag that corresponds
/// to `policy`.
[[nodiscard]] row measure_driver(wait_policy policy, durations const& durations);

}  // namespace flotilla::bench
