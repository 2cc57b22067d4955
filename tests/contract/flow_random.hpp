// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the random tests of flows have in common.

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {

/// Does nothing if the driver has no memory. Then the call must not have changed anything.
inline bool succeeds(std::function<void()> const& call) {
  try {
    call();
  } catch (driver_error const& why) {
    EXPECT_EQ(why.status(), driver_status::out_of_memory);
    return false;
  }
  return true;
}

/// Makes a later call of the driver fail for lack of memory, or kernel launches slow, or does
/// nothing.
inline void disturb_driver(std::mt19937& random) {
  std::uint64_t const nth = 1 + random() % 2;
  switch (random() % 16) {
    case 0: testing::fail_call("cuMemAllocAsync", nth, driver_status::out_of_memory); break;
    case 1: testing::fail_call("cuMemHostAlloc", nth, driver_status::out_of_memory); break;
    case 2: testing::delay_calls("cuLaunchKernel", std::chrono::microseconds{random() % 50});
  }
}

}  // namespace flotilla::test
