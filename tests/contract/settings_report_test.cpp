// What a runtime says of the settings it was given: granted, rounded, without effect, refused.

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
    runtime_options made{.devices = device_spec(1), .workers = 0};
    made.settings = settings::parse(text);
    made.best_effort = best_effort;
    return made;
  }
  static setting_outcome outcome(settings_report const& of, std::string_view name) {
    auto const found = std::find_if(of.outcomes.begin(), of.outcomes.end(),
                                    [&](setting_outcome const& each) { return each.name == name; });
    if (found == of.outcomes.end()) {
      ADD_FAILURE() << "nothing is said of " << name;
      return {};
    }
    return *found;
  }
};

// requirement: one outcome a setting, and only those asked for are judged
TEST_F(SettingsReport, HasEverySetting) {
  runtime const rt{asking("schedule=yield")};
  settings_report const made = rt.report_settings(device_ordinal{0});
  ASSERT_EQ(made.outcomes.size(), device_settings::names().size());
  for (setting_outcome const& each : made.outcomes) {
    EXPECT_EQ(each.kind, each.name == "schedule" ? kinds::granted : kinds::by_default) << each.name;
  }
  EXPECT_EQ(outcome(made, "schedule").granted, "yield");
  EXPECT_EQ(outcome(made, "context").granted, "owned");
  EXPECT_EQ(outcome(made, "limits.sync_depth").granted, "") << "today's drivers have none";
  EXPECT_TRUE(made.warnings().empty());
}

// requirement: requested and granted, where the driver rounded or clamped
TEST_F(SettingsReport, SaysWhatWasRounded) {
  runtime const rt{asking("limits.stack=5001,limits.malloc_heap=1000,limits.pending_launches=1")};
  settings_report const made = rt.report_settings(device_ordinal{0});
  setting_outcome const stack = outcome(made, "limits.stack");
  EXPECT_EQ(stack.kind, kinds::adjusted);
  EXPECT_EQ(stack.requested, "5001");
  EXPECT_EQ(stack.granted, "5008");
  EXPECT_EQ(outcome(made, "limits.malloc_heap").kind, kinds::adjusted);
  EXPECT_EQ(outcome(made, "limits.pending_launches").granted, "32");
  ASSERT_EQ(made.warnings().size(), 3u);
  EXPECT_THAT(made.warnings()[0], AllOf(HasSubstr("device 0"), HasSubstr("limits.stack"), HasSubstr("5001"),
                                        HasSubstr("5008"), HasSubstr("16 bytes")));
}

// requirement: what has no effect on today's drivers is said
TEST_F(SettingsReport, SaysWhatHasNoEffect) {
  runtime const rt{asking("map_host=true,lmem_resize_to_max=true,bank_size=8")};
  settings_report const made = rt.report_settings(device_ordinal{0});
  for (char const* const name : {"map_host", "lmem_resize_to_max", "bank_size"}) {
    EXPECT_EQ(outcome(made, name).kind, kinds::no_effect) << name;
    EXPECT_FALSE(outcome(made, name).note.empty());
  }
  EXPECT_EQ(outcome(made, "map_host").granted, "true") << "the driver reports the flag back";
  EXPECT_EQ(outcome(made, "bank_size").granted, "4");
}

// requirement: what is refused stops the runtime: device, setting and reason are named
TEST_F(SettingsReport, OfARefusedSettingIsAnError) {
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{asking("limits.sync_depth=4")}; }),
              AllOf(HasSubstr("device 0"), HasSubstr("limits.sync_depth"), HasSubstr("no such limit")));
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{asking("limits.stack=1GiB")}; }),
              AllOf(HasSubstr("limits.stack"), HasSubstr("1GiB"), HasSubstr("range")));
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{asking("exec_affinity=8")}; }),
              AllOf(HasSubstr("exec_affinity = 8"), HasSubstr("MPS")));
}

// requirement: unless best effort will do; then it is reported, and the rest is as asked
TEST_F(SettingsReport, OfARefusedSettingWithBestEffortSaysSo) {
  runtime const rt{asking("limits.sync_depth=4,limits.stack=1GiB,cache=l1,exec_affinity=8", true)};
  settings_report const made = rt.report_settings(device_ordinal{0});
  EXPECT_EQ(outcome(made, "limits.sync_depth").kind, kinds::refused);
  EXPECT_EQ(outcome(made, "limits.stack").kind, kinds::refused);
  EXPECT_EQ(outcome(made, "limits.stack").granted, "1KiB") << "the driver's default serves";
  EXPECT_EQ(outcome(made, "exec_affinity").kind, kinds::refused);
  EXPECT_EQ(outcome(made, "cache").kind, kinds::granted);
  EXPECT_EQ(made.warnings().size(), 3u);
}

// requirement
TEST_F(SettingsReport, CountsLanesAndWindow) {
  runtime const rt{asking("lanes=2,window=128")};
  device_settings const made = rt.effective_settings(device_ordinal{0});
  EXPECT_EQ(made.lanes, 2u);
  EXPECT_EQ(made.window, 128u);
  EXPECT_EQ(outcome(rt.report_settings(device_ordinal{0}), "lanes").kind, kinds::granted);
  for (char const* const text : {"lanes=0", "lanes=1000", "window=63", "window=65001"}) {
    EXPECT_THAT(thrown<unknown_setting>([&] { runtime const none{asking(text)}; }),
                AllOf(HasSubstr("device 0"), HasSubstr(std::string{text}.substr(0, 5)), HasSubstr(" to ")))
        << text;
  }
}

// requirement: code's window of the options is code's for all devices
TEST_F(SettingsReport, OfTheWindowTakesTheOptionWhereSettingsSayNothing) {
  runtime_options options = asking("schedule=spin");
  options.window = 256;
  EXPECT_EQ(runtime{options}.effective_settings(device_ordinal{0}).window, 256u);
  options.settings.set("0:window", "512");
  EXPECT_EQ(runtime{options}.effective_settings(device_ordinal{0}).window, 512u);
}

// requirement
TEST_F(SettingsReport, HasNoContradictions) {
  EXPECT_THAT(thrown<unknown_setting>([] { runtime const rt{asking("user_coredump=true,coredump=false")}; }),
              AllOf(HasSubstr("user_coredump"), HasSubstr("'coredump'")));
  EXPECT_THAT(thrown<unknown_setting>([] { (void)settings::parse("schedule=spin,schedule=yield"); }),
              AllOf(HasSubstr("schedule=yield"), HasSubstr("schedule=spin")));
  EXPECT_EQ(settings::parse("schedule=spin,schedule=spin").all.schedule, schedule::spin);
}

}  // namespace
}  // namespace flotilla::test
