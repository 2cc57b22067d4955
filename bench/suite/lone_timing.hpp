// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that time single tasks.

#include <cstdint>

#include "clock.hpp"
#include "figure.hpp"

namespace flotilla::bench {

/// Returns the median of the samples, without the first `before` samples.
[[nodiscard]] inline double median_since(figure const& result, std::size_t before) {
  figure latest;
  latest.samples.assign(result.samples.begin() + static_cast<std::ptrdiff_t>(before),
                        result.samples.end());
  return latest.quantile(0.5);
}

/// Times one call of `task` and adds the time to the samples.
template <class Task>
void time_one(figure& result, Task const& task) {
  auto const start = clock::now();
  task();
  result.samples.push_back(seconds_since(start) * 1e9);
}

/// Times `times` calls of `task`, one after the other. @return the median time.
template <class Task>
double time_each(figure& result, std::int64_t times, Task const& task) {
  std::size_t const before = result.samples.size();
  // Reserve now, so that no allocation disturbs the timing.
  result.samples.reserve(before + static_cast<std::size_t>(times));
  for (std::int64_t i = 0; i < times; ++i) { time_one(result, task); }
  return median_since(result, before);
}

}  // namespace flotilla::bench
