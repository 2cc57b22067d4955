// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the processor time of this process.

#include <chrono>

#include "clock.hpp"

namespace flotilla::bench {

/// Returns the processor time that all threads of this process have used, in seconds.
[[nodiscard]] double processor_seconds();

/// Returns the processor time that all threads but the calling one have used, in seconds.
[[nodiscard]] double processor_seconds_of_others();

/// Repeats `action` for `duration`. Returns the processor time that the process used during this
/// time, divided by the elapsed time.
template <class Action>
[[nodiscard]] double share_while(std::chrono::milliseconds duration, Action const& action) {
  double const before = processor_seconds();
  auto const start = clock::now();
  while (clock::now() - start < duration) { action(); }
  return (processor_seconds() - before) / seconds_since(start);
}

/// Returns when all other threads of the process have been idle for the time `settling`: none of
/// them ran or was ready to run. Returns after `max_settling` even if they are not idle.
///
/// A fixed waiting time would not be enough: oneTBB's threads make a fixed number of attempts to
/// find work before they sleep, and these attempts take longer on a busy machine. Attempts that
/// come after a fixed waiting time would be measured as the cost of an idle process. If a thread
/// wakes up periodically, the function returns after `max_settling`. The measurement then includes
/// the periodic work.
void settle(std::chrono::milliseconds settling, std::chrono::milliseconds max_settling);

}  // namespace flotilla::bench
