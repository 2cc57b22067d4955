// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Devices that have no access to the memory of each other: the setting turns the access off, or the
// driver refuses it.

#include "contract/peer_fixture.hpp"

namespace flotilla::test {
namespace {

class PeerAccessRefusal : public peer_test {};

// requirement: the error names the kernel, the argument, both devices and the reason. It is the
// same for each way to submit a launch
TEST_F(PeerAccessRefusal, LaunchWithABufferOutOfReachIsRefused) {
  FLOTILLA_NEED_CPU_DRIVER();
  testing::separate_peers(testing::cpu_device{0}, testing::cpu_device{1});
  start();
  words a = word(first, 5), b = word(second, 6);
  auto const refused = [](auto const& submit) {
    EXPECT_THAT(thrown<invalid_argument>(submit),
                AllOf(HasSubstr("kernel 'copy_value'"), HasSubstr("a buffer of device 1"),
                      HasSubstr("on device 0"), HasSubstr("not peers")));
  };
  launch const onto_first = copy(a, b);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(rt().submit(onto_first)); }),
              HasSubstr("argument 1"));
  refused([&] { static_cast<void>(rt().submit(onto_first)); });
  refused([&] { static_cast<void>(rt().try_submit(onto_first)); });
  refused([&] { rt().post(onto_first); });
  refused([&] { static_cast<void>(rt().submit(copy(b, b), {.device = first})); });
  refused([&] { static_cast<void>(rt().submit(copy(b, a), {.device = first})); });
  recording steps{rt()};
  refused([&] { steps.add(onto_first); });
  recorded_task const task = steps.add(copy(a, a));
  refused([&] { steps.set(task, onto_first); });
  steps.replay().wait();
  // The other direction is possible.
  rt().submit(copy(b, a)).wait();
  EXPECT_EQ(read(b), 5u);
  expect_copies_to_arrive(1000);
}

// requirement: the setting of a device turns off its access, in code and as text
TEST_F(PeerAccessRefusal, SettingTurnsItOff) {
  runtime_options options{.devices = device_spec(2)};
  options.settings = settings::parse("0:peer_access=false");
  start(options);
  EXPECT_FALSE(can_access_peer(rt(), first, second));
  EXPECT_TRUE(can_access_peer(rt(), first, first));
  EXPECT_THAT(why_no_peer_access(rt(), first, second),
              AllOf(HasSubstr("'peer_access'"), HasSubstr("device 0")));
  EXPECT_EQ(rt().effective_settings(first).peer_access, false);
  setting_outcome const made = outcome(rt().report_settings(first));
  EXPECT_EQ(made.requested, "false");
  EXPECT_EQ(made.granted, "false");
  EXPECT_EQ(made.kind, setting_outcome::kinds::granted);
  words a = word(first, 5), b = word(second, 6);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(rt().submit(copy(a, b))); }),
              HasSubstr("'peer_access'"));
  expect_copies_to_arrive(1000);
}

// requirement: if the driver refuses the access, the runtime works without it. The report has the
// reason, and a requested setting counts as refused
TEST_F(PeerAccessRefusal, RefusalOfTheDriverIsReportedAndNotAnError) {
  FLOTILLA_NEED_CPU_DRIVER();
  struct {
    char const* entry;
    driver_status status;
    char const* reason;
  } const cases[] = {
      {"cuDeviceCanAccessPeer", driver_status::invalid_device, "cuDeviceCanAccessPeer"},
      {"cuCtxEnablePeerAccess", driver_status::too_many_peers, "TOO_MANY_PEERS"},
      {"cuCtxEnablePeerAccess", driver_status::invalid_context, "INVALID_CONTEXT"},
  };
  for (auto const& each : cases) {
    SCOPED_TRACE(each.reason);
    testing::fail_call(each.entry, 1, each.status);
    runtime_options options{.devices = device_spec(2)};
    options.settings.all.peer_access = true;
    start(options);
    EXPECT_FALSE(can_access_peer(rt(), first, second));
    EXPECT_TRUE(can_access_peer(rt(), second, first));
    EXPECT_THAT(why_no_peer_access(rt(), first, second), HasSubstr(each.reason));
    EXPECT_EQ(rt().effective_settings(first).peer_access, false);
    setting_outcome const made = outcome(rt().report_settings(first));
    EXPECT_EQ(made.kind, setting_outcome::kinds::refused);
    EXPECT_THAT(made.note, AllOf(HasSubstr("device 1: "), HasSubstr(each.reason)));
    EXPECT_EQ(rt().report_settings(first).warnings().size(), 1u);
    EXPECT_EQ(outcome(rt().report_settings(second)).kind, setting_outcome::kinds::granted);
    expect_copies_to_arrive(100);
    program_.reset();
    rt_.reset();
  }
}

// requirement: if the driver refuses one of several devices access to a pool, only this device has
// no access
TEST_F(PeerAccessRefusal, PoolIsOpenedForTheOtherDevicesIfOneIsRefused) {
  FLOTILLA_NEED_CPU_DRIVER();
  // The first call is for the devices 1 and 2 together. The second call is for device 1 alone.
  testing::fail_call("cuMemPoolSetAccess", 1, driver_status::invalid_device);
  testing::fail_call("cuMemPoolSetAccess", 2, driver_status::not_supported);
  start({.devices = device_spec(3)});
  EXPECT_FALSE(can_access_peer(rt(), second, first));
  EXPECT_THAT(why_no_peer_access(rt(), second, first),
              AllOf(HasSubstr("cuMemPoolSetAccess"), HasSubstr("NOT_SUPPORTED")));
  EXPECT_TRUE(can_access_peer(rt(), third, first));
  EXPECT_TRUE(can_access_peer(rt(), first, second));
  setting_outcome const made = outcome(rt().report_settings(second));
  EXPECT_EQ(made.kind, setting_outcome::kinds::by_default);
  EXPECT_EQ(made.granted, "false");
  EXPECT_THAT(made.note, HasSubstr("device 0"));
  words a = word(first, 5), c = word(third, 6);
  rt().submit(copy(c, a)).wait();
  EXPECT_EQ(read(c), 5u);
}

}  // namespace
}  // namespace flotilla::test
