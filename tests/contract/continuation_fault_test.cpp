// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// After a fault, continuations that were still open run and receive the error.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "contract/continuation.hpp"
#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class ContinuationFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, ContinuationFault, ::testing::Values(0, 1, 2, 8));

/// Attaches continuations to a task that faults and to the successors of this task.
void fault_with_open_continuations(int workers, bool destroy_at_once) {
  poison_counter counter;
  std::atomic<int> const& ran = counter.ran;
  std::atomic<int> const& poisoned_ones = counter.poisoned_ones;
  int attached = 0;
  {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    test_program const kernels{rt};
    ticket const before = rt.submit(kernels.nothing.with_shape({1}, {1})());
    before.wait();
    std::string of_before;
    before.then([&](std::exception_ptr why) { of_before = message_of(why); });
    ticket const trap = rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})());
    trap.then(std::ref(counter));
    ++attached;
    for (int i = 0; i < 100; ++i) {
      try {
        ticket const behind = rt.submit(kernels.nothing.with_shape({1}, {1})(), {.after = {trap}});
        behind.then(std::ref(counter));
        ++attached;
      } catch (poisoned const&) { break; }
    }
    if (!destroy_at_once) {
      EXPECT_TRUE(pumping(rt, [&] { return ran == attached; })) << ran << " of " << attached;
      EXPECT_FALSE(rt.pump());
      trap.then(std::ref(counter));  // `then` works even though the runtime is already poisoned
      ++attached;
      EXPECT_TRUE(pumping(rt, [&] { return ran == attached; })) << ran << " of " << attached;
      EXPECT_EQ(of_before, "none");
    }
  }
  EXPECT_EQ(ran, attached);
  EXPECT_EQ(poisoned_ones, attached);
}

// requirement: after a fault, each open continuation runs once and receives the error
TEST_P(ContinuationFault, FaultRunsEveryOpenContinuation) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_continuations(GetParam(), false); });
}

/// Waits for host tasks behind a task that faults. Their functions use objects of this thread.
void fault_before_host_tasks(int workers) {
  runtime rt{{.devices = device_spec(1), .workers = workers}};
  test_program const kernels{rt};
  latch open;
  ticket const held = rt.submit(host_task([&] { open.wait(); }));
  ticket const trap =
      rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})(), {.after = {held}});
  std::string given;
  bool has_run = false;
  auto const take = [&](std::exception_ptr const& why) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    given = message_of(why);
  };
  ticket const takes_error =
      rt.submit(host_task([&](std::exception_ptr why) { take(why); }), {.after = {trap}});
  ticket const plain = rt.submit(host_task([&] { has_run = true; }), {.after = {trap}});
  // What follows the host task runs after its function, too.
  std::string given_before;
  std::atomic<bool> was_given{false};
  ticket const behind = rt.submit(host_task([&](std::exception_ptr) { given_before = given; }),
                                  {.after = {takes_error}});
  takes_error.then([&](std::exception_ptr) { was_given = !given.empty(); });
  open.open();
  takes_error.wait();  // returns after the function, and not when the runtime is poisoned
  EXPECT_THAT(given, HasSubstr("a kernel faulted"));
  takes_error.wait();  // the answer stays the same
  EXPECT_TRUE(takes_error.ready());
  behind.wait();
  EXPECT_EQ(given_before, given);
  EXPECT_TRUE(pumping(rt, [&] { return was_given.load(); }));
  EXPECT_THROW(plain.wait(), poisoned);
  EXPECT_FALSE(has_run);
  EXPECT_THROW((void)rt.submit(host_task([](std::exception_ptr) {})), poisoned);
}

// requirement: on a poisoned runtime, a host task that takes errors ends after its function
TEST_P(ContinuationFault, AHostTaskThatTakesErrorsEndsAfterItsFunction) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_before_host_tasks(GetParam()); });
}

// requirement: the destructor of the runtime runs open continuations and passes them the error,
// even if no thread has noticed the fault before
TEST_P(ContinuationFault, DestructorOfAPoisonedRuntimeRunsOpenContinuations) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_continuations(GetParam(), true); });
}

}  // namespace
}  // namespace flotilla::test
