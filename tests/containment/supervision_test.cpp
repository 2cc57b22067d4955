// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How often a device is replaced, and what happens then; devices that hang.

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/data/flow.hpp>
#include <flotilla/task/recording.hpp>

#include "containment/containment_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class Supervision : public containment_test {
 protected:
  void expect_quarantined() {
    EXPECT_EQ(health(rt(), first), device_health::quarantined);
    EXPECT_EQ(health(rt(), second), device_health::ok);
    EXPECT_THAT(thrown<device_fault>([&] { (void)rt().submit(nothing(), {.device = first}); }),
                HasSubstr("quarantined"));
    EXPECT_THROW((device_buffer<word>{rt(), first, 10}), device_fault);
    std::vector<ticket> free;
    for (int i = 0; i < 50; ++i) { free.push_back(rt().submit(nothing())); }
    for (ticket const& each : free) {
      EXPECT_EQ(ending_of(each), ending::well);
      if (auto const device = each.device()) { EXPECT_EQ(*device, second); }
    }
    rt().submit(nothing(), {.device = second}).wait();
  }
  /// Lets a kernel of the first device hang in a replay: the device must be replaced, no other, and
  /// the next replay must run.
  /// @param nth  Which kernel of the device; 1 is the first.
  void expect_one_replacement(recording& steps, std::uint64_t nth) {
    ::testing::internal::CaptureStderr();
    steps.replay().wait();
    testing::hang_kernel(rt().devices()[0], nth);
    ticket const hung = steps.replay();
    EXPECT_THROW(hung.wait(), error);
    rt().wait_idle();
    steps.replay().wait();
    EXPECT_EQ(devices().replacements(), 1);
    static_cast<void>(::testing::internal::GetCapturedStderr());
  }
};
INSTANTIATE_TEST_SUITE_P(workers, Supervision, ::testing::Values(0, 2));

// requirement: a device that is lost too often is quarantined. Its open tasks end, new ones are
// refused, and tasks that name no device go elsewhere
TEST_P(Supervision, TooManyLossesQuarantineADevice) {
  start({.restart = {.intensity = 2, .period = 1h}});
  for (int loss = 0; loss < 2; ++loss) {
    devices().crash(0);
    rt().submit(nothing(), {.device = first}).wait();
  }
  testing::hang_kernel(rt().devices()[0], 1);
  std::vector<ticket> open;
  open.push_back(rt().submit(nothing(), {.device = first}));
  rt().pump();
  for (int i = 0; i < 50; ++i) {
    open.push_back(rt().submit(nothing(), {.device = first, .after = {open.front()}}));
    open.push_back(rt().submit([](task_context&) {}, {.device = first}));
  }
  devices().crash(0);
  EXPECT_EQ(ending_of(open.front()), ending::lost);
  for (ticket const& each : open) { EXPECT_NE(ending_of(each), ending::well); }
  EXPECT_EQ(devices().replacements(), 2);
  expect_quarantined();
  rt().wait_idle();
}

// requirement: a device for which no successor can be started is quarantined, and says why
TEST_P(Supervision, ADeviceWithoutSuccessorIsQuarantined) {
  start();
  rt().submit(nothing(), {.device = first}).wait();
  devices().refuse_replacements();
  devices().crash(0);
  ticket const task = rt().submit(nothing(), {.device = first});
  EXPECT_THAT(thrown<device_fault>([&] { task.wait(); }),
              HasSubstr("no worker process could be started"));
  expect_quarantined();
}

// requirement: after a device was quarantined, everything works on the others
TEST_P(Supervision, TheOtherDevicesWorkOn) {
  for (unsigned const bad : {0u, 1u}) {
    start({.restart = {.intensity = 0}});
    device_ordinal const good{1 - bad};
    devices().crash(static_cast<int>(bad));
    ASSERT_TRUE(pumping(
        rt(), [&] { return health(rt(), device_ordinal{bad}) == device_health::quarantined; }));
    std::vector<word> values(300'000, 3), result(300'000);
    device_buffer<word> x{rt(), good, values};
    rt().submit(x.copy_to(std::span{result})).wait();
    EXPECT_EQ(result, values);
    host_buffer<word> pinned{rt(), 1};
    test_program const loaded{rt()};
    rt().submit(loaded.write.with_shape({1}, {1})(pinned.data(), 7u)).wait();
    EXPECT_EQ(pinned[0], 7u);
    recording steps{rt()};
    steps.add(loaded.write.with_shape({1}, {1})(x, 8u));
    steps.replay().wait();
    EXPECT_EQ(read(x)[0], 8u);
    {
      flow all{rt()};
      data<word> y{all, {64}, "y"};
      for (int i = 0; i < 4; ++i) {
        all.submit(loaded.write.with_shape({1}, {1})(flotilla::write(y), 9u)).wait();
      }
      EXPECT_EQ(y.host()(0), 9u);
    }
    x = {};
    pinned = {};
    TearDown();
    SetUp();
  }
}

// requirement: a buffer can be made at any time, also while its device is lost
TEST_P(Supervision, BuffersAreMadeDuringLosses) {
  start();
  std::jthread const killer{[&](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      devices().crash(0);
      std::this_thread::sleep_for(1ms);
    }
  }};
  auto const end = std::chrono::steady_clock::now() + 500ms;
  while (std::chrono::steady_clock::now() < end) {
    device_buffer<word> const here{rt(), first, 1000};
    host_buffer<word> const pinned{rt(), 1000};
  }
}

// requirement: if all devices are quarantined, every task ends, and every submit is refused
TEST_P(Supervision, ARuntimeWithoutDevicesEnds) {
  start({.restart = {.intensity = 0}});
  std::vector<ticket> free;
  devices().crash(0);
  devices().crash(1);
  try {
    for (int i = 0; i < 50; ++i) { free.push_back(rt().submit(nothing())); }
  } catch (device_fault const&) {
    // the devices were quarantined meanwhile
  }
  for (ticket const& each : free) { EXPECT_NE(ending_of(each), ending::other); }
  rt().wait_idle();
  EXPECT_TRUE(pumping(rt(), [&] {
    return health(rt(), first) == device_health::quarantined &&
           health(rt(), second) == device_health::quarantined;
  }));
  EXPECT_THROW((void)rt().submit(nothing()), device_fault);
}

// requirement: losses outside of the period do not count, and the back-off delays a replacement
TEST_P(Supervision, ThePeriodAndTheBackOffCount) {
  start({.restart = {.intensity = 1, .period = 30ms}});
  for (int loss = 0; loss < 3; ++loss) {
    devices().crash(0);
    rt().submit(nothing(), {.device = first}).wait();
    std::this_thread::sleep_for(40ms);
  }
  EXPECT_EQ(health(rt(), first), device_health::ok);
}

// requirement
TEST_P(Supervision, TheBackOffDelaysTheSecondReplacement) {
  start({.restart = {.period = 1h, .back_off = 100ms}});
  auto const replace = [&] {
    auto const begun = std::chrono::steady_clock::now();
    devices().crash(0);
    ticket const task = rt().submit(nothing(), {.device = first});
    rt().pump();
    bool const restarting = health(rt(), first) == device_health::restarting;
    task.wait();
    return std::pair{std::chrono::steady_clock::now() - begun, restarting};
  };
  static_cast<void>(replace());
  auto const [took, restarting] = replace();
  EXPECT_GE(took, 100ms);
  EXPECT_TRUE(restarting);
}

// requirement: a kernel that hangs costs an isolated device its worker process; the tasks behind it
// run, and the other device loses nothing
TEST_P(Supervision, ADeviceThatHangsIsReplaced) {
  start({.stuck_after = 200ms});
  ::testing::internal::CaptureStderr();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hung = rt().submit(nothing(), {.device = first, .label = "endless"});
  ticket const other = rt().submit(nothing(), {.device = second});
  EXPECT_THAT(thrown<device_fault>([&] { hung.wait(); }), HasSubstr("endless"));
  other.wait();
  rt().submit(nothing(), {.device = first}).wait();
  EXPECT_EQ(devices().replacements(), 1);
  std::string const text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("endless"));
  EXPECT_THAT(text, HasSubstr("Its worker process is ended and replaced"));
}

// requirement: a device is not stuck because a part of a replay waits there for another device
TEST_P(Supervision, ADeviceThatWaitsForAHangingOneIsKept) {
  start({.stuck_after = 200ms});
  recording steps{rt()};
  recorded_task const ahead = steps.add(nothing(), {.device = first});
  steps.add(nothing(), {.device = second, .after = {ahead}});
  expect_one_replacement(steps, 1);
}

// requirement: a device that hangs in a replay is found, also after the other devices have ended
// their parts
TEST_P(Supervision, ADeviceThatHangsInTheLastPartIsReplaced) {
  start({.stuck_after = 200ms});
  recording steps{rt()};
  recorded_task const other = steps.add(nothing(), {.device = second});
  recorded_task before = steps.add(nothing(), {.device = first});
  for (int i = 0; i < 3; ++i) {
    before = steps.add(nothing(), {.device = first, .after = {before}});
  }
  steps.add(nothing(), {.device = first, .after = {before, other}});
  expect_one_replacement(steps, 5);
}

// requirement: bad values are refused by name, in code and in text
TEST(RestartOptions, BadValuesAreRefused) {
  FLOTILLA_NEED_CPU_DRIVER();
  auto const refused = [](restart_options const& options) {
    return thrown<invalid_argument>(
        [&] { runtime{{.devices = device_spec(1), .workers = 0, .restart = options}}; });
  };
  EXPECT_THAT(refused({.period = 0ms}),
              HasSubstr("runtime_options::restart.period must be between 1 and 86400000 ms, but is "
                        "0 ms"));
  EXPECT_THAT(refused({.period = 25h}), HasSubstr("restart.period"));
  EXPECT_THAT(refused({.back_off = -1ms}), HasSubstr("restart.back_off"));
  auto const in_text = [](char const* text) {
    return thrown<unknown_setting>([&] {
      runtime{{.devices = device_spec(1), .workers = 0, .settings = settings::parse(text)}};
    });
  };
  EXPECT_THAT(in_text("restart.period_ms=0"), HasSubstr("setting 'restart.period_ms'"));
  EXPECT_THAT(in_text("restart.intensity=often"), HasSubstr("setting 'restart.intensity'"));
  runtime const rt{{.devices = device_spec(1),
                    .workers = 0,
                    .settings = settings::parse("restart.intensity=3,restart.back_off_ms=5")}};
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).restart_intensity, 3u);
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).restart_period_ms, 60000u);
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).restart_back_off_ms, 5u);
}

}  // namespace
}  // namespace flotilla::test
