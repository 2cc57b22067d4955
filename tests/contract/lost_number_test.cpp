// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver refuses to write the completion number of a copy, or the device loses it, while tasks
// depend on the copy.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/device/health.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class LostNumber : public contract_test {
 protected:
  static constexpr std::size_t size = 1000;

  void SetUp() override {
    contract_test::SetUp();
    FLOTILLA_NEED_CPU_DRIVER();
    if (device_count() < 2) { GTEST_SKIP() << "needs two devices"; }
  }
  void TearDown() override {
    testing::clear_faults();
    contract_test::TearDown();
  }
  [[nodiscard]] static device_ordinal second() { return device_ordinal{1}; }

  /// What depends on the copy A, and what then enters the stream of A.
  enum class dependent { kernel, copy_on_other_device, callable };

  /// Submits a copy A, a task B that depends on A, and a copy C in the stream of A that depends on
  /// B. All are submitted while A must wait. Checks that all of them end, and that B and C saw
  /// their predecessors.
  /// @param inject  Is called before A is launched.
  template <class Inject>
  void expect_ends(dependent kind, Inject const& inject) {
    held_word head{rt()};
    device_buffer<std::uint32_t> a{rt(), first(), size}, b{rt(), second(), size};
    host_buffer<std::uint32_t> from{rt(), size}, to{rt(), 1};
    device_word sum{rt(), first(), 1};
    std::fill_n(from.data(), size, 5u);
    // A kernel of another device, so that the copy is the next to report its end on its own device.
    ticket const held = rt().submit(head.launch_of(program()), {.device = second()});
    ASSERT_TRUE(pumping(rt(), [&] { return head.started(); }));
    inject();
    std::atomic<bool> called{false};
    ticket const copied = rt().submit(a.copy_from(from), {.label = "A", .after = {held}});
    task_options const after_a{.device = first(), .label = "B", .after = {copied}};
    ticket const next = kind == dependent::kernel
                            ? rt().submit(program().add.over(1, 1)(sum.buffer(), 6u), after_a)
                        : kind == dependent::callable
                            ? rt().submit([&](task_context&) { called = true; }, after_a)
                            : rt().submit(b.copy_from(from), {.label = "B", .after = {copied}});
    ticket const last = rt().submit(sum.buffer().copy_from(from.span().subspan(0, 1)),
                                    {.label = "C", .after = {next}});
    // A fixed time, because nothing tells that no further task will be launched.
    auto const until = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < until) { rt().pump(); }
    head.release();
    for (ticket const* each : {&copied, &next, &last}) {
      ASSERT_TRUE(ended(*each)) << (each == &copied ? 'A' : each == &next ? 'B' : 'C');
      EXPECT_NO_THROW(each->wait());
    }
    EXPECT_EQ(sum.read(), 5u);
    rt().wait_idle();
    // Work that waited for the lost number made its device look stuck.
    EXPECT_TRUE(pumping(rt(), [&] { return health(rt(), first()) == device_health::ok; }));
  }
};
FLOTILLA_CONTRACT(LostNumber);

// regression: C waited in the stream of A for B, and B for the number of A, which nobody wrote,
// because the stream of A was never empty
TEST_P(LostNumber, TasksEndIfTheDriverRefusesToWriteIt) {
  for (dependent const kind :
       {dependent::kernel, dependent::copy_on_other_device, dependent::callable}) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_ends(
        kind, [] { testing::fail_call("cuStreamWriteValue64", 1, driver_status::out_of_memory); });
    testing::clear_faults();
  }
}

// requirement: the same if the driver refuses many times
TEST_P(LostNumber, TasksEndIfTheDriverRefusesManyTimes) {
  for (dependent const kind : {dependent::kernel, dependent::copy_on_other_device}) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_ends(kind, [] {
      for (unsigned i = 1; i <= 6; ++i) {
        testing::fail_call("cuStreamWriteValue64", i, driver_status::out_of_memory);
      }
    });
    testing::clear_faults();
  }
}

// regression: the same if the device does not report the end of A, and stuck_after is set
TEST_P(LostNumber, TasksEndAfterALostCompletion) {
  runtime_options changed = options();
  changed.stuck_after = 50ms;
  start(changed);
  for (dependent const kind : {dependent::kernel, dependent::copy_on_other_device}) {
    SCOPED_TRACE(static_cast<int>(kind));
    ::testing::internal::CaptureStderr();
    expect_ends(kind, [this] { testing::lose_completion(rt().devices()[0], 1); });
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'A'"));
    testing::clear_faults();
  }
}

}  // namespace
}  // namespace flotilla::test
