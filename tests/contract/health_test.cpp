// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `health(rt, device)`: devices on which launched work does not end.

#include <chrono>
#include <cstdlib>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class Health : public guest_test {
 protected:
  static constexpr device_ordinal first{0}, second{1};
  // Longer than a busy machine delays a CPU device whose kernel does not hang.
  static constexpr std::chrono::milliseconds limit{100};
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
  void TearDown() override {
    testing::clear_faults();
    guest_test::TearDown();
  }
  static runtime_options options(int workers, std::chrono::milliseconds stuck_after) {
    return {.devices = device_spec(2), .workers = workers, .stuck_after = stuck_after};
  }
};

// requirement: a device whose kernel does not end is stuck until the kernel ends, and the report
// names the kernel. Meanwhile, tasks that name no device run on the other device
TEST_F(Health, ADeviceIsStuckUntilItsKernelEnds) {
  for (int const workers : {0, 2}) {
    runtime rt{options(workers, limit)};
    test_program const program{rt};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    rt.submit(nothing, {.device = second}).wait();
    EXPECT_EQ(health(rt, first), device_health::ok);
    EXPECT_EQ(health(rt, second), device_health::ok);
    ::testing::internal::CaptureStderr();
    testing::hang_kernel(rt.devices()[1], 1);
    ticket const hung = rt.submit(nothing, {.device = second, .label = "endless"});
    EXPECT_TRUE(pumping(rt, [&] { return health(rt, second) == device_health::stuck; }));
    EXPECT_EQ(health(rt, first), device_health::ok);
    std::vector<ticket> others;
    for (int i = 0; i < 40; ++i) { others.push_back(rt.submit(nothing)); }
    for (ticket const& each : others) {
      EXPECT_TRUE(ended(each));
      if (auto const device = each.device()) { EXPECT_EQ(*device, first); }
    }
    EXPECT_FALSE(hung.ready());
    testing::release_kernels(rt.devices()[1]);
    hung.wait();
    EXPECT_TRUE(pumping(rt, [&] { return health(rt, second) == device_health::ok; }));
    std::string const text = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("is stuck"));
    EXPECT_THAT(text, HasSubstr("endless"));
    EXPECT_THAT(text, HasSubstr("Nothing in this process can stop a running kernel"));
  }
}

// requirement: a task whose end the device does not report ends after `stuck_after`, or with the
// next work in its stream. The report names it, and the device is not stuck
TEST_F(Health, ALostCompletionIsFound) {
  for (int const workers : {0, 2}) {
    runtime rt{options(workers, limit)};
    test_program const program{rt};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    device_buffer<std::uint32_t> word{rt, second, 1};
    host_buffer<std::uint32_t> seen{rt, 1};
    // A launch that is timed by events is not lost, because the events report its end as well. On a
    // busy machine, this may be any launch of a kernel.
    std::string text;
    std::uint32_t filled = 0;
    auto const end = std::chrono::steady_clock::now() + test_timeout;
    while (text.find("unreported") == std::string::npos && std::chrono::steady_clock::now() < end) {
      ::testing::internal::CaptureStderr();
      for (bool const is_fill : {false, true, false, true}) {
        testing::lose_completion(rt.devices()[1], 1);
        ticket const task = is_fill ? rt.submit(word.span().fill(++filled))
                                    : rt.submit(nothing, {.device = second, .label = "unreported"});
        EXPECT_TRUE(ended(task));
        EXPECT_EQ(health(rt, second), device_health::ok);
        testing::clear_faults();
      }
      text += ::testing::internal::GetCapturedStderr();
    }
    rt.submit(word.copy_to(seen)).wait();
    EXPECT_EQ(seen[0], filled);
    EXPECT_THAT(text, HasSubstr("did not report that this work ended"));
    EXPECT_THAT(text, HasSubstr("unreported"));
    EXPECT_THAT(text, Not(HasSubstr("is stuck")));
  }
}

// requirement: a task behind a kernel that hangs ends at its deadline
TEST_F(Health, DeadlinesPassOnADeviceThatHangs) {
  for (int const workers : {0, 2}) {
    runtime rt{options(workers, 0ms)};
    test_program const program{rt};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    testing::hang_kernel(rt.devices()[1], 1);
    ticket const hung = rt.submit(nothing, {.device = second});
    ticket const late =
        rt.submit(host_task([] { ADD_FAILURE() << "it ran"; }),
                  {.after = {hung}, .deadline = std::chrono::steady_clock::now() + 20ms});
    EXPECT_THROW(late.wait(), timed_out);
    EXPECT_FALSE(hung.ready());
    EXPECT_EQ(health(rt, second), device_health::ok) << "without a limit, no device is stuck";
    testing::release_kernels(rt.devices()[1]);
    hung.wait();
  }
}

// requirement: after a fault, no device of the process can be used
TEST_F(Health, AfterAFaultAllDevicesAreFaulted) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options(1, limit)};
    test_program const program{rt};
    testing::fault_kernel(rt.devices()[1], 1, driver_status::illegal_address);
    ticket const task = rt.submit(program.nothing.with_shape({1}, {1})(), {.device = second});
    EXPECT_THROW(task.wait(), poisoned);
    EXPECT_EQ(health(rt, first), device_health::faulted);
    EXPECT_EQ(health(rt, second), device_health::faulted);
  });
}

// requirement: the limit can be set for a program that is not built again, and code overrides it
TEST_F(Health, TheEnvironmentSetsTheLimit) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    using std::chrono::milliseconds;
    ::setenv("FLOTILLA_SETTINGS", "stuck_after=2min,1:stuck_after=1h", 1);
    EXPECT_EQ(runtime{{.devices = device_spec(2)}}.effective_settings(second).stuck_after, 1h);
    ::setenv("FLOTILLA_STUCK_AFTER", "100ms", 1);
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    EXPECT_EQ(rt.effective_settings(first).stuck_after, limit);
    test_program const program{rt};
    ::testing::internal::CaptureStderr();
    testing::hang_kernel(rt.devices()[1], 1);
    ticket const hung =
        rt.submit(program.nothing.with_shape({1}, {1})(), {.device = second, .label = "endless"});
    EXPECT_TRUE(pumping(rt, [&] { return health(rt, second) == device_health::stuck; }));
    EXPECT_EQ(health(rt, first), device_health::ok);
    testing::release_kernels(rt.devices()[1]);
    hung.wait();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("endless"));
    EXPECT_EQ(runtime{options(1, 0ms)}.effective_settings(first).stuck_after, 0ms);
    ::setenv("FLOTILLA_STUCK_AFTER", "10", 1);
    EXPECT_THAT(thrown<unknown_setting>([] { runtime{{.devices = device_spec(1)}}; }),
                AllOf(HasSubstr("FLOTILLA_STUCK_AFTER"), HasSubstr("'10'"), HasSubstr("10s")));
  });
}

// regression: after a refused cuCtxPopCurrent, the device was not used, but its health was ok
TEST_F(Health, ADeviceWhoseContextIsNotPoppedIsRetired) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options(1, 0ms)};
    test_program const program{rt};
    rt.wait_idle();
    ::testing::internal::CaptureStderr();
    testing::fail_call("cuCtxPopCurrent", 1, driver_status::out_of_memory);
    { device_buffer<std::uint32_t> const memory{rt, second, 10}; }
    testing::clear_faults();
    launch const nothing = program.nothing.with_shape({1}, {1})();
    EXPECT_THROW(rt.submit(nothing, {.device = second}).wait(), driver_error);
    std::string const text = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("cuCtxPopCurrent"));
    EXPECT_EQ(health(rt, second), device_health::retired);
    EXPECT_EQ(health(rt, first), device_health::ok);
    for (int i = 0; i < 20; ++i) { EXPECT_NO_THROW(rt.submit(nothing).wait()); }
  });
}

// requirement: bad arguments are refused, and the names of the states are readable
TEST_F(Health, BadArgumentsAreRefused) {
  EXPECT_THAT(thrown<invalid_argument>([] { runtime{options(0, -1ms)}; }),
              HasSubstr("stuck_after must be 0 or more, but is -1 ms"));
  runtime rt{options(0, 0ms)};
  EXPECT_THROW((void)health(rt, device_ordinal{2}), unknown_device);
  EXPECT_EQ(to_string(device_health::ok), "ok");
  EXPECT_EQ(to_string(device_health::stuck), "stuck");
  EXPECT_EQ(to_string(device_health::faulted), "faulted");
  EXPECT_EQ(to_string(device_health::retired), "retired");
}

}  // namespace
}  // namespace flotilla::test
