// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which checks a runtime makes: the text form, the environment variable, and the option in code.

#include <cstdlib>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class Checks : public guest_test {};

/// Returns whether a runtime with these options checks the arguments of launches.
bool checks_arguments(runtime_options options) {
  options.devices = device_spec(1);
  runtime rt{std::move(options)};
  test_program const program{rt};
  std::uint32_t on_host = 0;
  try {
    rt.submit(program.write.with_shape({1}, {1})(&on_host, 1u)).wait();
  } catch (invalid_argument const&) { return true; }
  return false;
}

// requirement
TEST_F(Checks, NamesAreReadFromText) {
  EXPECT_EQ(checks::parse(""), checks{});
  EXPECT_EQ(checks::parse("order"), (checks{.arguments = false, .order = true}));
  EXPECT_EQ(checks::parse(" arguments "), (checks{.arguments = true, .order = false}));
  EXPECT_EQ(checks::parse("order, arguments"), (checks{.arguments = true, .order = true}));
  EXPECT_EQ(checks::parse("all"), (checks{.arguments = true, .order = true}));
}

// requirement
TEST_F(Checks, UnknownNamesAreRefusedByName) {
  for (char const* const text : {"ordr", "order,ordr", "ordr,all"}) {
    EXPECT_THAT(thrown<unknown_setting>([&] { static_cast<void>(checks::parse(text)); }),
                AllOf(HasSubstr("'ordr'"), HasSubstr("arguments, order, all")));
  }
  EXPECT_THAT(thrown<unknown_setting>([] { static_cast<void>(checks::parse("order,")); }),
              HasSubstr("''"));
}

// requirement
TEST_F(Checks, VariableAppliesUnlessCodeSetsTheOption) {
  FLOTILLA_NEED_CPU_DRIVER();  // without the check, the kernel writes to memory of the host
  EXPECT_FALSE(checks_arguments({}));
  EXPECT_TRUE(checks_arguments({.checks = checks{.arguments = true}}));
  FLOTILLA_EXPECT_IN_CHILD([] {
    setenv("FLOTILLA_CHECK", "arguments", 1);
    EXPECT_TRUE(checks_arguments({}));
    EXPECT_FALSE(checks_arguments({.checks = checks{}}));
  });
  FLOTILLA_EXPECT_IN_CHILD([] {
    setenv("FLOTILLA_CHECK", "argument", 1);
    EXPECT_THAT(thrown<unknown_setting>([] { checks_arguments({}); }),
                AllOf(HasSubstr("FLOTILLA_CHECK"), HasSubstr("'argument'")));
  });
}

}  // namespace
}  // namespace flotilla::test
