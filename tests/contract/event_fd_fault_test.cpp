// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// event_fd after a fault.

#include <atomic>
#include <exception>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/readable.hpp"

namespace flotilla::test {
namespace {

class EventFdFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, EventFdFault, ::testing::Values(0, 2));

/// Runs an event loop until a kernel has faulted and its continuation has run. Then checks that the
/// poisoned runtime does not keep the loop busy.
void fault_in_a_loop(int workers) {
  runtime rt{{.devices = device_spec(1), .workers = workers}};
  test_program const kernels{rt};
  std::atomic<bool> ran{false};
  std::atomic<bool> was_poisoned{false};
  rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})())
      .then([&](std::exception_ptr why) {
        try {
          if (why != nullptr) { std::rethrow_exception(why); }
        } catch (poisoned const&) { was_poisoned = true; } catch (error const&) {
        }
        ran = true;
      });
  int const descriptor = event_fd(rt);
  while (!ran) {
    ASSERT_TRUE(readable(descriptor, test_timeout)) << "the loop never learns of the fault";
    rt.pump();
  }
  EXPECT_TRUE(was_poisoned);
  for (int i = 0; readable(descriptor, std::chrono::milliseconds{50}); ++i) {
    ASSERT_LT(i, 100) << "a poisoned runtime keeps the loop busy";
    rt.pump();
  }
}

// requirement: the descriptor becomes readable although a kernel that faults never completes
TEST_P(EventFdFault, FaultWakesTheLoop) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_in_a_loop(GetParam()); });
}

}  // namespace
}  // namespace flotilla::test
