// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that fault. Every open ticket ends with an error that describes the fault, and no wait
// hangs. After a fault a process can no longer use the driver, so each test runs in a child
// process.

#include <atomic>
#include <thread>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// Checks that the ticket has a `poisoned` error that names the driver's status and the device.
/// @return the message of the error.
std::string poisoned_message(ticket const& open) {
  EXPECT_TRUE(ended(open)) << "the ticket is still open after the timeout";
  try {
    open.wait();
    ADD_FAILURE() << "the task succeeded after a fault";
  } catch (poisoned const& error) {
    EXPECT_TRUE(is_sticky(error.status())) << to_string(error.status());
    EXPECT_THAT(error.what(), AllOf(HasSubstr(to_string(error.status())), HasSubstr("device")));
    return error.what();
  } catch (error const& other) { ADD_FAILURE() << "not poisoned: " << other.what(); }
  return {};
}

void expect_new_work_refused(runtime& rt, launch const& valid) {
  EXPECT_THROW((void)rt.submit(valid), poisoned);
  EXPECT_THROW((void)rt.submit([](task_context&) {}), poisoned);
  EXPECT_THROW((void)rt.try_submit(valid), poisoned);
  EXPECT_THROW((device_buffer<int>{rt, device_ordinal{0}, 10}), error);
  rt.wait_idle();
  EXPECT_FALSE(rt.pump());
}

/// Submits a kernel that faults on device 0 while tasks are open on every device. Checks every
/// ticket.
void fault_with_open_tasks(int devices, int workers) {
  ticket outlives;
  {
    runtime rt{{.devices = device_spec(devices), .workers = workers}};
    test_program const kernels{rt};
    launch const nothing = kernels.nothing.with_shape({1}, {1})();
    device_buffer<std::uint32_t> memory{rt, device_ordinal{0}, 1000};
    ticket const before = rt.submit(nothing);
    before.wait();
    // If there are two devices, a kernel still runs on the second one when the fault happens. So
    // the kernel's task is still open.
    held_word word{rt};
    device_ordinal const last{static_cast<unsigned>(devices - 1)};
    std::vector<ticket> open;
    ticket trap =
        rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})(),
                  {.device = device_ordinal{0}, .label = "the faulting one", .after = {before}});
    if (devices > 1) {
      open.push_back(rt.submit(word.launch_of(kernels), {.device = last, .after = {before}}));
    }
    ticket const* const held = devices > 1 ? &open.back() : &trap;
    std::vector<ticket> successors;
    for (unsigned i = 0; i < static_cast<unsigned>(devices); ++i) {
      try {
        successors.push_back(rt.submit(nothing, {.device = device_ordinal{i}, .after = {*held}}));
        successors.push_back(
            rt.submit([](task_context&) {}, {.device = device_ordinal{i}, .after = {*held}}));
      } catch (poisoned const&) {
        break;  // a worker has already noticed the fault, so submit refuses new tasks
      }
    }
    std::string const message = poisoned_message(trap);
    EXPECT_THAT(message, AllOf(HasSubstr("trap_now"), HasSubstr("the faulting one"),
                               HasSubstr("device 0"), HasSubstr(rt.devices()[0].uuid)));
    for (ticket const& each : open) { (void)poisoned_message(each); }
    for (ticket const& each : successors) {
      EXPECT_TRUE(ended(each));
      EXPECT_THROW(each.wait(), error);
    }
    before.wait();  // does not throw: this task succeeded before the fault
    expect_new_work_refused(rt, nothing);
    outlives = std::move(trap);
  }
  (void)poisoned_message(outlives);
}

class Fault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, Fault, ::testing::Values(0, 1, 2, 8));

// requirement
TEST_P(Fault, FaultEndsEveryOpenTicketOfOneDevice) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_tasks(1, GetParam()); });
}

// requirement
TEST_P(Fault, FaultEndsEveryOpenTicketOfTwoDevices) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_tasks(2, GetParam()); });
}

// requirement: the runtime's destructor returns even if no thread has waited for the faulting task
TEST_P(Fault, DestructorReturnsAfterAFault) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    ticket outlives;
    {
      runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
      program const loaded = rt.load(test_image());
      outlives = rt.submit(loaded.kernel<>("trap_now").with_shape({1}, {1})(),
                           {.label = "not waited for"});
    }
    EXPECT_TRUE(outlives.ready());
    EXPECT_THAT(poisoned_message(outlives), HasSubstr("not waited for"));
  });
}

// requirement: after a fault, `ticket::wait` with any policy throws, `wait_idle` returns, and
// `pump` returns false
TEST_P(Fault, FaultEndsEveryKindOfWait) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
    program const loaded = rt.load(test_image());
    ticket const trap = rt.submit(loaded.kernel<>("trap_now").with_shape({1}, {1})());
    std::atomic<int> ended{0};
    std::vector<std::jthread> team;
    for (wait_policy const how :
         {wait_policy::spin, wait_policy::yield, wait_policy::blocking, wait_policy::automatic}) {
      team.emplace_back([&, how] {
        EXPECT_THROW(trap.wait(how), poisoned);
        ++ended;
      });
    }
    team.emplace_back([&] {
      rt.wait_idle();
      ++ended;
    });
    team.clear();
    EXPECT_EQ(ended, 5);
    EXPECT_TRUE(eventually([&] { return !rt.pump(); }));
  });
}

// requirement: if a task faults, its successors on another device end with an error and never run
TEST_P(Fault, FaultEndsDependentTasksOfOtherDevices) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::uint32_t value = 0;
    {
      runtime rt{{.devices = device_spec(2), .workers = GetParam()}};
      test_program const kernels{rt};
      held_word word{rt};
      host_buffer<std::uint32_t> written{rt, 1};
      written[0] = 0;
      device_ordinal const faulting{0}, other{1};
      ticket const held = rt.submit(word.launch_of(kernels), {.device = faulting});
      ticket const trap = rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})(),
                                    {.device = faulting, .after = {held}});
      std::vector<ticket> successors;
      for (int i = 0; i < 3; ++i) {
        successors.push_back(rt.submit(kernels.write.with_shape({1}, {1})(written.data(), 1u),
                                       {.device = other, .after = {trap}}));
      }
      for (int i = 0; i < 100; ++i) { rt.pump(); }
      word.release();
      (void)poisoned_message(trap);
      for (ticket const& each : successors) { EXPECT_THROW(each.wait(), error); }
      value = written[0];
    }
    EXPECT_EQ(value, 0u) << "a successor of the faulting task ran";
  });
}

// requirement: a fault also poisons the other runtimes of the process, and no new runtime can be
// created
TEST_P(Fault, FaultPoisonsEveryRuntimeOfTheProcess) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
    runtime other{{.devices = device_spec(1), .workers = GetParam()}};
    test_program const kernels{rt}, others{other};
    EXPECT_THROW(rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})()).wait(),
                 poisoned);
    try {
      other.submit(others.nothing.with_shape({1}, {1})()).wait();
      ADD_FAILURE() << "the other runtime ran a kernel after the fault";
    } catch (poisoned const& error) { EXPECT_TRUE(is_sticky(error.status())); }
    EXPECT_THAT(thrown<error>([] { runtime const third{{.devices = device_spec(1)}}; }),
                HasSubstr("CUDA_ERROR_"));
  });
}

// requirement: a fault that is injected into the CPU driver poisons the runtime like a fault of a
// kernel
TEST_P(Fault, InjectedFaultPoisons) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = "cpu:2", .workers = GetParam()}};
    test_program const kernels{rt};
    testing::fault_kernel(testing::cpu_device{1}, 3, driver_status::illegal_address);
    launch const nothing = kernels.nothing.with_shape({1}, {1})();
    rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    for (int i = 0; i < 5; ++i) { rt.submit(nothing, {.device = device_ordinal{0}}).wait(); }
    ticket const third = rt.submit(nothing, {.device = device_ordinal{1}, .label = "third"});
    EXPECT_THAT(poisoned_message(third), AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"),
                                               HasSubstr("device 1"), HasSubstr("third")));
    expect_new_work_refused(rt, nothing);
  });
}

}  // namespace
}  // namespace flotilla::test
