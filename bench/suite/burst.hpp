// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bench_suite.hpp"

namespace flotilla::bench {

/// The number of tasks that are submitted while no thread drains the device. So many tasks fit into
/// flotilla's window and into the queue of the driver.
inline constexpr std::int64_t burst = 512;

/// Returns the mean time of `submit` in ns. The calls of `drain`, which runs the submitted tasks,
/// are not timed.
template <class Submit, class Drain>
double time_bursts(std::int64_t bursts, Submit const& submit, Drain const& drain) {
  double seconds = 0;
  for (std::int64_t i = 0; i < bursts; ++i) {
    auto const start = clock::now();
    for (std::int64_t task = 0; task < burst; ++task) { submit(); }
    seconds += seconds_since(start);
    drain();
  }
  return seconds * 1e9 / static_cast<double>(bursts * burst);
}

}  // namespace flotilla::bench
