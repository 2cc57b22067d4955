// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver refuses calls after which something must be waited for.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
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
                // No two tasks share memory, because the order of tasks ends with the fault.
                using buffer = device_buffer<std::uint32_t>;
                std::deque<buffer> memory;
                std::deque<host_buffer<std::uint32_t>> pinned;
                auto const on = [&](unsigned device) -> buffer& {
                  return memory.emplace_back(rt, rt.devices()[device], size);
                };
                auto const host = [&]() -> host_buffer<std::uint32_t>& {
                  return pinned.emplace_back(rt, size);
                };
                for (device const& each : rt.devices()) { testing::slow_copies(each, 40'000'000); }
                testing::fail_call("cuStreamWriteValue64", nth, driver_status::launch_failed);
                for (int i = 0; i < 3; ++i) {
                  ticket const up = rt.submit(on(0).copy_from(host()));
                  ticket const added = rt.submit(program.add.over(1)(on(0), 1u), {.after = {up}});
                  ticket const across = rt.submit(on(0).copy_to(on(1)), {.after = {added}});
                  rt.post(on(1).copy_to(host()), {.after = {across}});
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
