// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests that expect few batches for many tasks.

#include <chrono>
#include <cstdint>

#include <flotilla/flotilla.hpp>

#include "support/eventually.hpp"

namespace flotilla::test {

/// The sum of a counter of all devices.
[[nodiscard]] inline std::uint64_t sum_of(runtime& rt, std::uint64_t device_counters::*counter) {
  std::uint64_t all = 0;
  for (device const& each : rt.devices()) { all += rt.counters(each.ordinal).*counter; }
  return all;
}
/// Calls `run` until it needs at most `max` batches. A loaded machine may measure a kernel as so
/// long that its tasks or items are several batches for a while.
template <class Run>
[[nodiscard]] bool needs_few_batches(runtime& rt, std::uint64_t max, Run const& run) {
  // regression: after 50 rounds a busy machine had not measured the kernel as short yet
  auto const end = std::chrono::steady_clock::now() + test_timeout;
  while (std::chrono::steady_clock::now() < end) {
    std::uint64_t const before = sum_of(rt, &device_counters::batches);
    run();
    rt.wait_idle();
    if (sum_of(rt, &device_counters::batches) - before <= max) { return true; }
  }
  return false;
}

}  // namespace flotilla::test
