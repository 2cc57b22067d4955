#pragma once
// Times single tasks, one after another.

#include <cstdint>

#include "clock.hpp"
#include "figure.hpp"

namespace flotilla::bench {

/// The median of the samples that were added after the first `before`.
[[nodiscard]] inline double median_since(figure const& result, std::size_t before) {
  figure latest;
  latest.samples.assign(result.samples.begin() + static_cast<std::ptrdiff_t>(before),
                        result.samples.end());
  return latest.quantile(0.5);
}

/// Times one call of `task`.
template <class Task>
void time_one(figure& result, Task const& task) {
  auto const start = clock::now();
  task();
  result.samples.push_back(seconds_since(start) * 1e9);
}

/// Times each of `times` calls of `task`. @return their median.
template <class Task>
double time_each(figure& result, std::int64_t times, Task const& task) {
  std::size_t const before = result.samples.size();
  // No allocation between tasks.
  result.samples.reserve(before + static_cast<std::size_t>(times));
  for (std::int64_t i = 0; i < times; ++i) { time_one(result, task); }
  return median_since(result, before);
}

}  // namespace flotilla::bench
