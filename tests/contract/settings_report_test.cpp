// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The settings report says which settings were granted, rounded, refused, or without effect.

#include <algorithm>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using kinds = setting_outcome::kinds;

class SettingsReport : public guest_test {
 protected:
  static runtime_options asking(std::string const& text, bool best_effort = false) {
    runtime_options options{.devices = device_spec(1), .workers = 0};
    options.settings = settings::parse(text);
    options.best_effort = best_effort;
    return options;
  }
  static setting_outcome outcome(settings_report const& report, std::string_view name) {
    auto const found = std::find_if(report.outcomes.begin(), report.outcomes.end(),
                                    [&](setting_outcome const& each) { return each.name == name; });
    if (found == report.outcomes.end()) {
      ADD_FAILURE() << "no outcome for " << name;
      return {};
    }
    return *found;
  }
};

// requirement: the report has one outcome per setting; a setting that was not requested is reported
// with its default value
TEST_F(SettingsReport, ReportHasAnOutcomeForEverySetting) {
  runtime const rt{asking("schedule=yield")};
  settings_report const report = rt.report_settings(device_ordinal{0});
  ASSERT_EQ(report.outcomes.size(), device_settings::names().size());
  for (setting_outcome const& each : report.outcomes) {
    EXPECT_EQ(each.kind, each.name == "schedule" ? kinds::granted : kinds::by_default) << each.name;
  }
  EXPECT_EQ(outcome(report, "schedule").granted, "yield");
  EXPECT_EQ(outcome(report, "context").granted, "owned");
  EXPECT_EQ(outcome(report, "limits.sync_depth").granted, "")
      << "current drivers do not support this limit";
  EXPECT_TRUE(report.warnings().empty());
}

// requirement: if the driver rounds or clamps a value, the report contains both the requested and
// the granted value
TEST_F(SettingsReport, RoundedSettingIsReportedWithBothValues) {
  runtime const rt{asking("limits.stack=5001,limits.malloc_heap=1000,limits.pending_launches=1")};
  settings_report const report = rt.report_settings(device_ordinal{0});
  setting_outcome const stack = outcome(report, "limits.stack");
  EXPECT_EQ(stack.kind, kinds::adjusted);
  EXPECT_EQ(stack.requested, "5001");
  EXPECT_EQ(stack.granted, "5008");
  EXPECT_EQ(outcome(report, "limits.malloc_heap").kind, kinds::adjusted);
  EXPECT_EQ(outcome(report, "limits.pending_launches").granted, "32");
  ASSERT_EQ(report.warnings().size(), 3u);
  EXPECT_THAT(report.warnings()[0],
              AllOf(HasSubstr("device 0"), HasSubstr("limits.stack"), HasSubstr("5001"),
                    HasSubstr("5008"), HasSubstr("16 bytes")));
}

// requirement: a device that cannot prefer a NUMA node is no error. The report has the reason. CPU
// devices have no node. A GPU may have one: then the setting is granted.
TEST_F(SettingsReport, NumaPlacementIsNeverAnError) {
  for (char const* const text : {"schedule=yield", "numa_placement=true"}) {
    runtime const rt{asking(text)};
    setting_outcome const one = outcome(rt.report_settings(device_ordinal{0}), "numa_placement");
    bool const is_placed = *rt.effective_settings(device_ordinal{0}).numa_placement;
    EXPECT_EQ(one.granted, is_placed ? "true" : "false");
    EXPECT_EQ(one.note.empty(), is_placed) << one.note;
    if (rt.devices()[0].numa_node < 0) { EXPECT_FALSE(is_placed); }
    kinds const wanted = is_placed ? kinds::granted : kinds::refused;
    EXPECT_EQ(one.kind, one.requested.empty() ? kinds::by_default : wanted);
  }
  runtime const off{asking("numa_placement=false")};
  setting_outcome const one = outcome(off.report_settings(device_ordinal{0}), "numa_placement");
  EXPECT_EQ(one.kind, kinds::granted);
  EXPECT_EQ(one.granted, "false");
  EXPECT_EQ(one.note, "");
}

// requirement: the report marks settings that have no effect on current drivers
TEST_F(SettingsReport, SettingWithoutEffectIsReported) {
  runtime const rt{asking("map_host=true,lmem_resize_to_max=true,bank_size=8")};
  settings_report const report = rt.report_settings(device_ordinal{0});
  for (char const* const name : {"map_host", "lmem_resize_to_max", "bank_size"}) {
    EXPECT_EQ(outcome(report, name).kind, kinds::no_effect) << name;
    EXPECT_FALSE(outcome(report, name).note.empty());
  }
  EXPECT_EQ(outcome(report, "map_host").granted, "true") << "the driver stores the flag";
  EXPECT_EQ(outcome(report, "bank_size").granted, "4");
}

// requirement: if the driver refuses a setting, the constructor of the runtime throws. The error
// names the setting and the reason
TEST_F(SettingsReport, RefusedSettingStopsTheRuntime) {
  EXPECT_THAT(
      thrown<driver_error>([] { runtime const rt{asking("limits.sync_depth=4")}; }),
      AllOf(HasSubstr("device 0"), HasSubstr("limits.sync_depth"), HasSubstr("no such limit")));
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{asking("limits.stack=1GiB")}; }),
              AllOf(HasSubstr("limits.stack"), HasSubstr("1GiB"), HasSubstr("range")));
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{asking("exec_affinity=8")}; }),
              AllOf(HasSubstr("exec_affinity = 8"), HasSubstr("MPS")));
}

// requirement: with `best_effort`, the report marks refused settings, and the other settings are
// applied
TEST_F(SettingsReport, BestEffortReportsRefusedSettingsAndGoesOn) {
  runtime const rt{asking("limits.sync_depth=4,limits.stack=1GiB,cache=l1,exec_affinity=8", true)};
  settings_report const report = rt.report_settings(device_ordinal{0});
  EXPECT_EQ(outcome(report, "limits.sync_depth").kind, kinds::refused);
  EXPECT_EQ(outcome(report, "limits.stack").kind, kinds::refused);
  EXPECT_EQ(outcome(report, "limits.stack").granted, "1KiB") << "the driver's default must remain";
  EXPECT_EQ(outcome(report, "exec_affinity").kind, kinds::refused);
  EXPECT_EQ(outcome(report, "cache").kind, kinds::granted);
  EXPECT_EQ(report.warnings().size(), 3u);
}

// requirement
TEST_F(SettingsReport, LanesAndWindowAreApplied) {
  runtime const rt{asking("lanes=2,window=128")};
  device_settings const effective = rt.effective_settings(device_ordinal{0});
  EXPECT_EQ(effective.lanes, 2u);
  EXPECT_EQ(effective.window, 128u);
  EXPECT_EQ(outcome(rt.report_settings(device_ordinal{0}), "lanes").kind, kinds::granted);
  for (char const* const text : {"lanes=0", "lanes=1000", "window=63", "window=65001"}) {
    EXPECT_THAT(
        thrown<unknown_setting>([&] { runtime const none{asking(text)}; }),
        AllOf(HasSubstr("device 0"), HasSubstr(std::string{text}.substr(0, 5)), HasSubstr(" and ")))
        << text;
  }
}

// requirement: `runtime_options::window` sets the window of every device, except of devices whose
// window is set by the settings in code
TEST_F(SettingsReport, WindowOptionAppliesIfSettingsHaveNone) {
  runtime_options options = asking("schedule=spin");
  options.window = 256;
  EXPECT_EQ(runtime{options}.effective_settings(device_ordinal{0}).window, 256u);
  options.settings.set("0:window", "512");
  EXPECT_EQ(runtime{options}.effective_settings(device_ordinal{0}).window, 512u);
}

// requirement
TEST_F(SettingsReport, ContradictingSettingsAreRefused) {
  EXPECT_THAT(thrown<unknown_setting>(
                  [] { runtime const rt{asking("user_coredump=true,coredump=false")}; }),
              AllOf(HasSubstr("user_coredump"), HasSubstr("'coredump'")));
  EXPECT_THAT(
      thrown<unknown_setting>([] { (void)settings::parse("schedule=spin,schedule=yield"); }),
      AllOf(HasSubstr("schedule=yield"), HasSubstr("schedule=spin")));
  EXPECT_EQ(settings::parse("schedule=spin,schedule=spin").all.schedule, wait_policy::spin);
}

}  // namespace
}  // namespace flotilla::test
