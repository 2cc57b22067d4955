// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver refuses calls after which something must be waited for.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

// regression: the memory of the measurement was freed while a copy still used it
TEST(RefusedWaits, TheMemoryOfAMeasurementOutlivesItsCopies) {
  FLOTILLA_NEED_CPU_DRIVER();
  // The calls: for two blocks of memory, and one for each copy. Each process measures once.
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

// regression: the number of a batch was refused with the status of a fault, although the device
// worked on. A batch of another lane waited for it, and the destructor for this batch, for ever
TEST(RefusedWaits, APoisonedRuntimeEnds) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (std::uint64_t nth = 1; nth <= 6; ++nth) {
    EXPECT_EQ(forked([&] {
                constexpr std::size_t size = 100'000;
                runtime rt{{.devices = "cpu:2", .workers = 0}};
                test_program const program{rt};
                device_buffer<std::uint32_t> first{rt, rt.devices()[0], size},
                    second{rt, rt.devices()[1], size};
                host_buffer<std::uint32_t> pinned{rt, size};
                for (device const& each : rt.devices()) { testing::slow_copies(each, 40'000'000); }
                testing::fail_call("cuStreamWriteValue64", nth, driver_status::launch_failed);
                for (int i = 0; i < 3; ++i) {
                  ticket const up = rt.submit(first.copy_from(pinned));
                  ticket const added = rt.submit(program.add.over(1)(first, 1u), {.after = {up}});
                  ticket const across = rt.submit(first.copy_to(second), {.after = {added}});
                  rt.post(second.copy_to(pinned), {.after = {across}});
                }
                try {
                  rt.wait_idle();
                } catch (std::exception const&) {}  // the runtime is poisoned
                return 0;
              }),
              0)
        << "call " << nth;
  }
}

}  // namespace
}  // namespace flotilla::test
