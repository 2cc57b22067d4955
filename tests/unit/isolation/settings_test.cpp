// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/settings/settings.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <flotilla/error/error.hpp>
#include <flotilla/runtime.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// requirement
TEST(IsolationSettings, AreReadAndWrittenAsText) {
  settings const read = settings::parse("isolation=process,1:isolation=none,1:spare=warm");
  EXPECT_EQ(read.of(0).isolation, isolation::process);
  EXPECT_EQ(read.of(0).spare, std::nullopt);
  EXPECT_EQ(read.of(1).isolation, isolation::none);
  EXPECT_EQ(read.of(1).text("spare"), "warm");
  EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(settings::parse("isolation=yes")); }),
              AllOf(HasSubstr("'yes'"), HasSubstr("none, process")));
  EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(settings::parse("spare=2")); }),
              AllOf(HasSubstr("'2'"), HasSubstr("none, warm")));
}

// requirement
TEST(IsolationSettings, HaveVariablesOfTheirOwn) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::setenv("FLOTILLA_SETTINGS", "isolation=none,cache=l1", 1);
    ::setenv("FLOTILLA_ISOLATION", "process", 1);
    ::setenv("FLOTILLA_SPARE", "warm", 1);
    settings const read = settings::from_environment();
    EXPECT_EQ(read.all.isolation, isolation::process);
    EXPECT_EQ(read.all.spare, spare::warm);
    EXPECT_EQ(read.all.cache, cache_preference::l1);
    ::setenv("FLOTILLA_ISOLATION", "prison", 1);
    EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(settings::from_environment()); }),
                AllOf(HasSubstr("FLOTILLA_ISOLATION"), HasSubstr("prison")));
  });
}

}  // namespace
}  // namespace flotilla::test
