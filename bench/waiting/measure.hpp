#pragma once
// What is measured of one way to wait.

#include <chrono>
#include <string>
#include <vector>

#include <flotilla/settings.hpp>

namespace flotilla::bench {

/// How long each measurement goes on.
struct lengths {
  int lone = 2000;                            // tasks, one after the other
  std::chrono::milliseconds most_lone{1000};  // but no longer than that
  std::chrono::milliseconds waiting{1000};
  std::chrono::milliseconds settling{200};  // until workers have left and oneTBB's threads sleep; again while they do not:
  std::chrono::milliseconds most_settling{5'000};  // but no longer than that
  std::chrono::milliseconds idle{1000};
  /// As little as shows that it works.
  [[nodiscard]] static lengths quick();
};

/// Times in microseconds; shares of one processor, of the whole process, 1 is all of it.
struct row {
  flotilla::schedule schedule;
  std::string who;    // "flotilla", or its control: the driver
  double p50_us = 0;  // of a lone empty task, from submit until its submitter knows that it has run
  double p99_us = 0;
  double share_50us = 0;  // while a thread waits for kernels of 50 us, one after the other
  double share_5ms = 0;   // the same of 5 ms
  double share_idle = 0;  // with nothing to do, after the linger
};

/// A runtime on the machine's first device, its context made with `how`, and `ticket::wait`.
[[nodiscard]] row measure_flotilla(schedule how, lengths const& of);
/// The same by launches and cuStreamSynchronize in a context with that flag.
[[nodiscard]] row measure_driver(schedule how, lengths const& of);

}  // namespace flotilla::bench
