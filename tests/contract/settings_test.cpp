// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Settings: parsing, precedence, and the values that the driver granted.

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class Settings : public guest_test {};

// requirement
TEST_F(Settings, SettingsAreReadFromText) {
  settings const read =
      settings::parse("schedule=spin,1:cache=l1,limits.stack=4KiB,1:limits.malloc_heap=16MiB");
  EXPECT_EQ(read.all.schedule, wait_policy::spin);
  EXPECT_EQ(read.all.stack_bytes, 4096u);
  EXPECT_EQ(read.all.cache, std::nullopt);
  EXPECT_EQ(read.of(0).cache, std::nullopt);
  EXPECT_EQ(read.of(1).cache, cache_preference::l1);
  EXPECT_EQ(read.of(1).malloc_heap_bytes, 16u << 20);
  EXPECT_EQ(read.of(1).schedule, wait_policy::spin) << "the text sets it for all devices";
  EXPECT_TRUE(settings::parse("").devices.empty());
}

// requirement
TEST_F(Settings, EveryWordAndUnitIsParsed) {
  for (wait_policy const each :
       {wait_policy::automatic, wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    EXPECT_EQ(settings::parse("schedule=" + to_string(each)).all.schedule, each);
  }
  using enum cache_preference;
  for (cache_preference const each : {none, shared, l1, equal}) {
    EXPECT_EQ(settings::parse("cache=" + to_string(each)).all.cache, each);
  }
  for (auto const& [text, milliseconds] :
       {std::pair{"250ms", 250}, std::pair{"10s", 10'000}, std::pair{"2min", 120'000},
        std::pair{"1h", 3'600'000}, std::pair{"0", 0}}) {
    settings const read = settings::parse(std::string{"stuck_after="} + text);
    EXPECT_EQ(read.all.stuck_after, std::chrono::milliseconds{milliseconds}) << text;
    EXPECT_EQ(read.all.text("stuck_after"), text);
  }
  for (char const* const wrong : {"10", "s", "-1s", "1.5s", "10 s", "9999999999h", ""}) {
    EXPECT_THROW((void)settings::parse(std::string{"stuck_after="} + wrong), unknown_setting);
  }
  EXPECT_EQ(settings::parse("limits.stack=65536").all.stack_bytes, 65536u);
  EXPECT_EQ(settings::parse("limits.malloc_heap=1GiB").all.malloc_heap_bytes, std::size_t{1} << 30);
}

// requirement
TEST_F(Settings, SettingOfOneDeviceOverridesThatOfAll) {
  settings chosen;
  chosen.set("schedule", "yield");
  chosen.set("1:schedule", "blocking");
  EXPECT_EQ(chosen.of(0).schedule, wait_policy::yield);
  EXPECT_EQ(chosen.of(1).schedule, wait_policy::blocking);
}

// requirement: an invalid setting is refused, the error names the invalid part, and no setting
// changes
TEST_F(Settings, UnknownSettingIsRefusedByName) {
  auto const refused = [](char const* key, char const* value, char const* offender) {
    settings into;
    EXPECT_THAT(thrown<unknown_setting>([&] { into.set(key, value); }), HasSubstr(offender))
        << key << '=' << value;
    EXPECT_EQ(into.all.schedule, std::nullopt);
    EXPECT_EQ(into.all.stack_bytes, std::nullopt);
    EXPECT_TRUE(into.devices.empty());
  };
  refused("shedule", "spin", "shedule");
  refused("limits.stak", "1", "limits.stak");
  refused("schedule", "fast", "fast");
  refused("cache", "l2", "l2");
  refused("limits.stack", "many", "many");
  refused("limits.stack", "12parsec", "12parsec");
  refused("limits.stack", "-5", "-5");
  refused("limits.stack", "", "limits.stack");
  refused("limits.malloc_heap", "99999999999999999999999", "99999999999999999999999");
  // The number of bytes does not fit into 64 bits.
  refused("limits.malloc_heap", "99999999999999GiB", "99999999999999GiB");
  refused("x:schedule", "spin", "x:schedule");
  refused("-1:schedule", "spin", "-1:schedule");
  refused(":schedule", "spin", ":schedule");
  refused("", "spin", "");
}

// requirement
TEST_F(Settings, TextWithABadPairIsRefusedByName) {
  for (char const* const text :
       {"schedule=spin,nonsense=1", "nonsense=1", "schedule=spin,nonsense", "nonsense"}) {
    EXPECT_THAT(thrown<unknown_setting>([&] { (void)settings::parse(text); }),
                HasSubstr("nonsense"))
        << text;
  }
  EXPECT_THROW((void)settings::parse("schedule=spin,,cache=l1"), unknown_setting);
  EXPECT_THROW((void)settings::parse("=spin"), unknown_setting);
}

// requirement: `effective_settings` returns the values that the driver granted, which may be
// rounded
TEST_F(Settings, SettingsOfEachDeviceAreAppliedAndReadBack) {
  FLOTILLA_NEED_DEVICES(2);
  runtime_options options{.devices = device_spec(2), .workers = 1};
  options.settings = settings::parse(
      "limits.stack=2049,schedule=blocking,cache=l1,"
      "1:schedule=yield,1:cache=shared,1:limits.malloc_heap=32MiB");
  runtime const rt{options};
  device_settings const zero = rt.effective_settings(device_ordinal{0});
  device_settings const one = rt.effective_settings(device_ordinal{1});
  EXPECT_EQ(zero.schedule, wait_policy::blocking);
  EXPECT_EQ(one.schedule, wait_policy::yield);
  EXPECT_EQ(zero.cache, cache_preference::l1);
  EXPECT_EQ(one.cache, cache_preference::shared);
  ASSERT_TRUE(zero.stack_bytes && one.malloc_heap_bytes);
  EXPECT_GE(*zero.stack_bytes, 2049u);
  EXPECT_EQ(*zero.stack_bytes % 16, 0u) << "the driver rounds up to a multiple of 16 bytes";
  EXPECT_GE(*one.malloc_heap_bytes, 32u << 20);
  // `effective_settings` includes settings that were not requested.
  EXPECT_TRUE(zero.malloc_heap_bytes && one.stack_bytes);
}

// requirement: a setting for a device that the runtime does not have is refused
TEST_F(Settings, SettingOfAnUnknownDeviceIsRefused) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.set("7:schedule", "spin");
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{options}; }), HasSubstr("7"));
}

// requirement: a setting in code overrides the environment, and the environment overrides the
// driver's default
TEST_F(Settings, EnvironmentAppliesIfCodeSetsNothing) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    setenv("FLOTILLA_SETTINGS", "schedule=spin,cache=shared,1:cache=equal", 1);
    runtime_options options{.devices = device_spec(2)};
    options.settings.set("0:schedule", "yield");
    runtime const rt{options};
    EXPECT_EQ(rt.effective_settings(device_ordinal{0}).schedule, wait_policy::yield);
    EXPECT_EQ(rt.effective_settings(device_ordinal{1}).schedule, wait_policy::spin);
    EXPECT_EQ(rt.effective_settings(device_ordinal{0}).cache, cache_preference::shared);
    EXPECT_EQ(rt.effective_settings(device_ordinal{1}).cache, cache_preference::equal);
  });
}

// requirement
TEST_F(Settings, UnknownSettingInTheEnvironmentIsRefusedByName) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    setenv("FLOTILLA_SETTINGS", "speed=11", 1);
    EXPECT_THAT(thrown<unknown_setting>([] { runtime const rt{{.devices = device_spec(1)}}; }),
                HasSubstr("speed"));
  });
}

}  // namespace
}  // namespace flotilla::test
