// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Functions that run while a kernel of another task faults. They may use objects of the thread that
// waits for them.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <tuple>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

/// Whether the function is a callable, and the number of workers.
class RunningWork : public guest_test,
                    public ::testing::WithParamInterface<std::tuple<bool, int>> {};
INSTANTIATE_TEST_SUITE_P(functions, RunningWork,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(1, 2)));

void fault_beside(bool is_callable, int workers) {
  latch inside, go_on;
  std::atomic<bool> has_continued{false};
  runtime rt{{.devices = device_spec(2), .workers = workers}};
  open_on_exit const end{go_on};
  test_program const program{rt};
  auto const function = [&] {
    inside.open();
    go_on.wait();
  };
  ticket const running =
      is_callable ? rt.submit([&](task_context&) { function(); }, {.device = device_ordinal{0}})
                  : rt.submit(host_task(function));
  running.then([&](std::exception_ptr) { has_continued = true; });
  ASSERT_TRUE(eventually([&] { return inside.is_open(); }));
  ticket const fault = rt.submit(program.loaded.kernel<>("trap_now").with_shape({1}, {1})(),
                                 {.device = device_ordinal{1}});
  EXPECT_THROW(fault.wait(), poisoned);
  EXPECT_FALSE(running.ready());
  EXPECT_FALSE(running.wait_for(std::chrono::milliseconds{50}));
  EXPECT_FALSE(has_continued);
  go_on.open();
  EXPECT_TRUE(ended(running));
  EXPECT_TRUE(pumping(rt, [&] { return has_continued.load(); }));
}

// regression: on a poisoned runtime, a wait returned while the function of its task still ran
TEST_P(RunningWork, EndsBeforeItsTask) {
  FLOTILLA_NEED_DEVICES(2);
  auto const [is_callable, workers] = GetParam();
  FLOTILLA_EXPECT_IN_CHILD(
      [is_callable = is_callable, workers = workers] { fault_beside(is_callable, workers); });
}

}  // namespace
}  // namespace flotilla::test
