#pragma once
// Measurements of one wait policy.

#include <chrono>
#include <string>
#include <vector>

#include <flotilla/settings/settings.hpp>

namespace flotilla::bench {

/// The extent of each measurement.
struct durations {
  int lone = 2000;                           // tasks, one after another
  std::chrono::milliseconds max_lone{1000};  // for all of these tasks
  std::chrono::milliseconds waiting{1000};
  /// Enough for workers to leave and for oneTBB's threads to sleep. Repeated until they do.
  std::chrono::milliseconds settling{200};
  std::chrono::milliseconds max_settling{5'000};
  std::chrono::milliseconds idle{1000};
  /// As short as possible.
  [[nodiscard]] static durations quick();
};

/// Times in microseconds. A share is the processor time of the whole process; 1 is one processor.
struct row {
  flotilla::wait_policy schedule;
  std::string who;    // "flotilla", or "driver": the control
  double p50_us = 0;  // of a lone empty task, from submit until the submitter sees the end
  double p99_us = 0;
  double share_50us = 0;  // while a thread waits for kernels of 50 us, one after another
  double share_5ms = 0;   // the same with kernels of 5 ms
  double share_idle = 0;  // without tasks, after the linger
};

/// Measures `ticket::wait` on the machine's first device, with that policy.
[[nodiscard]] row measure_flotilla(wait_policy policy, durations const& durations);
/// Measures launches and cuStreamSynchronize in a context with the same flag.
[[nodiscard]] row measure_driver(wait_policy policy, durations const& durations);

}  // namespace flotilla::bench
