// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A fault while posted tasks are open: the runtime reports a single error for all open posted
// tasks.

#include <cstdint>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "contract/continuation.hpp"
#include "contract/post_fixture.hpp"
#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class PostFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, PostFault, ::testing::Values(0, 1, 2, 8));

enum class ends { wait_idle, pump, destructor };

/// Posts a kernel that faults while other posted tasks are open. Checks that the fault is reported
/// once, by the call that `how` names.
void fault_with_open_posts(int workers, ends how) {
  reported_errors errors;
  {
    runtime rt{{.devices = device_spec(1), .workers = workers, .on_error = errors.handler()}};
    test_program const kernels{rt};
    launch const nothing = kernels.nothing.with_shape({1}, {1})();
    rt.submit(nothing).wait();
    rt.post([](task_context&) { throw my_error{}; });
    EXPECT_TRUE(pumping(rt, [&] { return errors.size() == 1; })) << errors.size();
    rt.post(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})());
    try {
      for (int i = 0; i < 100; ++i) { rt.post(nothing); }
    } catch (poisoned const&) {  // `post` throws if a worker has already noticed the fault
    }
    switch (how) {
      case ends::wait_idle: rt.wait_idle(); break;
      case ends::pump: EXPECT_TRUE(eventually([&] { return !rt.pump(); })); break;
      case ends::destructor: break;
    }
    if (how != ends::destructor) {
      EXPECT_TRUE(pumping(rt, [&] { return errors.size() == 2; })) << errors.size();
      EXPECT_THROW(rt.post(nothing), poisoned);
      EXPECT_THROW(rt.post([](task_context&) {}), poisoned);
      for (int i = 0; i < 10; ++i) { rt.pump(); }
      rt.wait_idle();
    }
  }
  EXPECT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors.count<my_error>(), 1u);
  EXPECT_EQ(errors.count<poisoned>(), 1u);
}

// requirement
TEST_P(PostFault, FaultIsReportedOnceInWaitIdle) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_posts(GetParam(), ends::wait_idle); });
}

// requirement
TEST_P(PostFault, FaultIsReportedOnceInPump) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_posts(GetParam(), ends::pump); });
}

// requirement: the destructor reports the fault if no thread has noticed the fault before
TEST_P(PostFault, FaultIsReportedOnceByTheDestructor) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_posts(GetParam(), ends::destructor); });
}

// requirement: if a task with a ticket faults, posted tasks of other devices end, too
TEST_P(PostFault, FaultOfATaskWithATicketIsReportedForOpenPosts) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    reported_errors errors;
    std::uint32_t value = 0;
    {
      runtime rt{{.devices = "cpu:2", .workers = GetParam(), .on_error = errors.handler()}};
      test_program const kernels{rt};
      host_buffer<std::uint32_t> written{rt, 1};
      written[0] = 0;
      testing::fault_kernel(testing::cpu_device{1}, 1, driver_status::illegal_address);
      ticket const faulting = rt.submit(kernels.nothing.with_shape({1}, {1})(),
                                        {.device = device_ordinal{1}, .label = "the culprit"});
      try {
        rt.post(kernels.write.with_shape({1}, {1})(written.data(), 1u),
                {.device = device_ordinal{0}, .after = {faulting}});
        EXPECT_THROW(faulting.wait(), poisoned);
        EXPECT_TRUE(pumping(rt, [&] { return errors.size() == 1; })) << errors.size();
        EXPECT_THAT(message_of(errors.all().at(0)), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
      } catch (poisoned const&) {  // a worker noticed the fault before the call of `post`
        EXPECT_EQ(errors.size(), 0u);
      }
      value = written[0];
    }
    EXPECT_LE(errors.size(), 1u);
    EXPECT_EQ(value, 0u) << "the posted task ran after its predecessor had faulted";
  });
}

// requirement: a fault is not reported to the handler if all posted tasks had ended before the
// fault
TEST_P(PostFault, FaultAfterAllPostedTasksIsNotReported) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    reported_errors errors;
    {
      runtime rt{{.devices = device_spec(1), .workers = GetParam(), .on_error = errors.handler()}};
      test_program const kernels{rt};
      for (int i = 0; i < 10; ++i) { rt.post(kernels.nothing.with_shape({1}, {1})()); }
      rt.wait_idle();
      ticket const trap = rt.submit(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})());
      EXPECT_THROW(trap.wait(), poisoned);
      rt.wait_idle();
      EXPECT_FALSE(rt.pump());
    }
    EXPECT_EQ(errors.size(), 0u);
  });
}

// requirement: without a handler, the fault is printed once
TEST_P(PostFault, FaultWithoutAHandlerIsPrinted) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::testing::internal::CaptureStderr();
    {
      runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
      test_program const kernels{rt};
      rt.post(kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})(), {.label = "the trap"});
    }
    std::string const text = ::testing::internal::GetCapturedStderr();
    auto const at = text.find("a posted task failed");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(at, text.rfind("a posted task failed")) << text;
    EXPECT_THAT(text, AllOf(HasSubstr("the trap"), HasSubstr("CUDA_ERROR_")));
  });
}

}  // namespace
}  // namespace flotilla::test
