// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Green contexts: parts of a device, each of which flotilla uses like a device.
#include "context/green.hpp"

#include <flotilla/context/floating_context.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <array>
#include <thread>

#include "context/plan.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class Green : public context_test {
 protected:
  context_driver driver_ = context_driver::cpus(2);

  static std::vector<unsigned> split(std::vector<unsigned> const& counts) {
    std::vector<unsigned> made;
    for (CUdevResource const& each : split_multiprocessors(*api(), 0, "device 0", counts)) {
      made.push_back(each.sm.smCount);
    }
    return made;
  }
  static std::vector<request> planned(std::string const& devices, std::string const& text) {
    choice chosen = choose(devices);
    return plan(chosen, settings::parse(text), false);
  }
};

// requirement: the parts are in the requested order, and each has at least the requested size
TEST_F(Green, SplitsMultiprocessors) {
  EXPECT_EQ(split({16}), (std::vector<unsigned>{16}));
  EXPECT_EQ(split({16, 16, 16, 16, 16, 16, 16, 16}), std::vector<unsigned>(8, 16));
  EXPECT_EQ(split({16, 32, 8, 32}), (std::vector<unsigned>{16, 32, 8, 32}));
  EXPECT_EQ(split({10}), (std::vector<unsigned>{16})) << "the driver rounds up to whole groups";
}

// requirement: if a request is impossible, the error tells what would be possible
TEST_F(Green, RefusesMoreMultiprocessorsThanThereAre) {
  auto const refused = [](std::vector<unsigned> const& counts) {
    return thrown<invalid_argument>([&] { static_cast<void>(split(counts)); });
  };
  EXPECT_THAT(refused({1000}),
              test::AllOf(HasSubstr("device 0"), HasSubstr("1000"), HasSubstr("132")));
  EXPECT_THAT(refused(std::vector<unsigned>(9, 16)),
              test::AllOf(HasSubstr("9 parts of 16"), HasSubstr("room for only 8")));
  EXPECT_THAT(refused({64, 64, 64}), HasSubstr("3 parts of 64"));
  EXPECT_THAT(refused({128, 16}), HasSubstr("16"));
}

// requirement
TEST_F(Green, NeedsADriverThatHasThem) {
  driver::table older = *api();
  older.device_get_dev_resource = nullptr;
  std::array<unsigned, 1> const one{16};
  EXPECT_THAT(thrown<driver_error>(
                  [&] { static_cast<void>(split_multiprocessors(older, 0, "device 0", one)); }),
              HasSubstr("does not support green contexts"));
}

// requirement: one device can be split into several contexts, each with its own multiprocessors
TEST_F(Green, PartsOfADeviceAreContextsOfTheirOwn) {
  std::array<unsigned, 2> const counts{16, 32};
  {
    std::vector<flotilla::floating_context> const parts =
        flotilla::floating_context::parts(driver_, cpu(), counts);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_FALSE(parts[0].ref() == parts[1].ref());
    EXPECT_EQ(parts[0].device().multiprocessors, 16);
    EXPECT_EQ(parts[1].device().part, 1);
    EXPECT_EQ(parts[1].ref().multiprocessors(), 32u);
    EXPECT_EQ(parts[0].effective_settings().context, context_source::green(16));
    EXPECT_TRUE(driver_.primary(cpu()).active) << "a green context is part of the primary context";
    context_scope const scope{parts[0]};
    EXPECT_EQ(current(), parts[0].ref().handle());
  }
  EXPECT_FALSE(driver_.primary(cpu()).active);
  EXPECT_EQ(depth(), 0u);
}

// requirement: a green context cannot be current on two threads at the same time
TEST_F(Green, IsCurrentOnOneThreadAtATime) {
  flotilla::floating_context const part{driver_, cpu(), {.context = context_source::green(16)}};
  {
    context_scope const scope{part};
    std::thread{[&] {
      EXPECT_THAT(thrown<context_in_use>([&] { context_scope const other{part}; }),
                  HasSubstr("another thread"));
      EXPECT_THROW(static_cast<void>(part.ref().flags()), context_in_use);
      EXPECT_THROW(driver_.push(part.ref()), context_in_use);
      EXPECT_EQ(depth(), 0u);
    }}.join();
    context_scope const again{part};  // this thread may open a second scope
  }
  std::thread{[&] { context_scope const scope{part}; }}.join();
}

// requirement: if the driver grants more multiprocessors than requested, the report contains the
// granted number
TEST_F(Green, ReportsWhatWasGranted) {
  flotilla::floating_context const part{driver_, cpu(), settings::parse("context=green:10").all};
  setting_outcome const first = part.report_settings().outcomes.front();
  EXPECT_EQ(first.name, "context");
  EXPECT_EQ(first.requested, "green:10");
  EXPECT_EQ(first.granted, "green:16");
  EXPECT_EQ(first.kind, setting_outcome::kinds::adjusted);
}

// requirement: flotilla sets the requested flags on the device's primary context, and restores the
// earlier flags afterwards
TEST_F(Green, HasTheRequestedFlags) {
  {
    flotilla::floating_context const part{
        driver_, cpu(), {.context = context_source::green(16), .schedule = wait_policy::blocking}};
    EXPECT_EQ(part.effective_settings().schedule, wait_policy::blocking);
  }
  EXPECT_EQ(driver_.primary(cpu()).flags, context_flags{});
  // This time, the creation of the green context fails after the flags were set.
  testing::fail_call("cuGreenCtxCreate", 1, driver_status::out_of_memory);
  EXPECT_THAT(
      thrown<driver_error>([&] {
        flotilla::floating_context const none{
            driver_, cpu(), {.context = context_source::green(16), .schedule = wait_policy::spin}};
      }),
      HasSubstr("cuGreenCtxCreate"));
  EXPECT_EQ(driver_.primary(cpu()).flags, context_flags{});
  EXPECT_FALSE(driver_.primary(cpu()).active);
}

// requirement: each part in a device specification becomes a device
TEST_F(Green, IsNamedInADeviceSpecification) {
  choice const parts = choose("cpu:2/green:16*3");
  ASSERT_EQ(parts.devices.size(), 6u);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(parts.devices[i].ordinal.value, i);
    EXPECT_EQ(parts.devices[i].driver_ordinal, static_cast<int>(i / 3));
    EXPECT_EQ(parts.devices[i].part, static_cast<int>(i % 3));
    EXPECT_EQ(parts.sources[i], context_source::green(16));
  }
  EXPECT_EQ(choose("cpu:1/green:8").devices.size(), 1u);
  EXPECT_EQ(choose("cpu:1").sources.front(), std::nullopt);
  for (char const* const wrong :
       {"cpu:1/green", "cpu:1/green:0", "cpu:1/green:8*0", "cpu:1/green:8*x", "cpu:1/red:8",
        "cpu:1/", "cpu:1/green:8*99999"}) {
    EXPECT_THAT(thrown<unknown_device>([&] { static_cast<void>(choose(wrong)); }),
                HasSubstr(wrong));
  }
}

// requirement: some settings apply to all parts of a device, so all parts must have the same value.
// Otherwise the error names both values.
TEST_F(Green, MustAgreeInSharedSettings) {
  EXPECT_EQ(planned("cpu:1/green:16*2", "limits.stack=4096").size(), 2u);
  EXPECT_THAT(
      thrown<unknown_setting>([&] {
        static_cast<void>(planned("cpu:1/green:16*2", "0:limits.stack=4096,1:limits.stack=8192"));
      }),
      test::AllOf(HasSubstr("limits.stack"), HasSubstr("4KiB"), HasSubstr("8KiB"),
                  HasSubstr("device 0"), HasSubstr("device 1")));
  EXPECT_THAT(thrown<unknown_setting>(
                  [&] { static_cast<void>(planned("cpu:1/green:16*2", "1:schedule=spin")); }),
              test::AllOf(HasSubstr("schedule"), HasSubstr("not set")));
  EXPECT_EQ(planned("cpu:1/green:16*2", "0:lanes=2,1:lanes=4").size(), 2u)
      << "each part has its own setting `lanes`";
  EXPECT_EQ(planned("cpu:2", "context=green:16,0:schedule=spin").size(), 2u)
      << "these parts belong to different devices";
}

// requirement: if the device specification requests green contexts, the settings cannot request
// another kind of context
TEST_F(Green, ContradictsAnotherSource) {
  EXPECT_THAT(thrown<unknown_setting>(
                  [&] { static_cast<void>(planned("cpu:1/green:16*2", "1:context=primary")); }),
              test::AllOf(HasSubstr("device 1"), HasSubstr("green:16"), HasSubstr("primary")));
  EXPECT_EQ(planned("cpu:1/green:16*2", "context=green:16").size(), 2u);
}

}  // namespace
}  // namespace flotilla::context
