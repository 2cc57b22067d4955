// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver refuses to wait for copies with which a flow measures links between devices.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"

namespace flotilla::test {
namespace {

// regression: the memory of the measurement was freed while a copy still used it
TEST(RefusedWaits, TheMemoryOfAMeasurementOutlivesItsCopies) {
  FLOTILLA_NEED_CPU_DRIVER();
  // The calls are those for two blocks of memory, and one for each copy. Each process measures once.
  for (std::uint64_t nth = 1; nth <= 24; ++nth) {
    EXPECT_EQ(forked([&] {
                runtime rt{{.devices = "cpu:2", .workers = 0}};
                for (device const& each : rt.devices()) {
                  testing::slow_copies(each, 400'000'000);  // a large copy takes 20 ms
                }
                testing::fail_call("cuStreamSynchronize", nth, driver_status::out_of_memory);
                flow const work{rt};
                return 0;
              }),
              0)
        << "call " << nth;
  }
}

}  // namespace
}  // namespace flotilla::test
