// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Characters that TOML does not allow. toml++ must never see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "settings/toml_characters.hpp"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

/// Expects that `text` is refused at a line.
void expect_refused(std::string_view text, std::size_t line, char const* word) {
  SCOPED_TRACE(text);
  auto const found = find_forbidden_character(text);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->line, line);
  EXPECT_THAT(found->what, HasSubstr(word));
}

// requirement: every character may be in a comment or string, except control characters
TEST(TomlCharacters, AllowsTextInStringsAndComments) {
  for (std::string_view const text :
       {"", "lanes = 4\r\n\t# tab", "# Größe\nlanes = 4", "a = \"Größe\" # é", "a = 'é'",
        "a = \"\"\"é\n\"é\"\n\"\"\"", "a = '''é\n'é'\n'''", "a = \"\\\"é\"", "a = \"\\\\\" # é",
        "\xef\xbb\xbf# with a byte order mark", "a = \"'\" # é", "a = '\"' # é"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(find_forbidden_character(text).has_value(), false);
  }
}

// regression: toml++ has undefined behaviour if such a character is outside of strings
TEST(TomlCharacters, RefusesOtherCharactersOutside) {
  expect_refused("é = 4", 1, "not ASCII");
  expect_refused("lanes = 4\nlanes\xc2\xa0= 5", 2, "not ASCII");
  expect_refused("a = \"x\" é", 1, "not ASCII");
  expect_refused("a = 'x\\' é", 1, "not ASCII");  // a literal string has no escapes
  expect_refused("# x\né", 2, "not ASCII");
  expect_refused("a = \"open\né", 2, "not ASCII");  // a string ends with its line
  expect_refused("a = \"\"\"x\ny\"\"\" é", 2, "not ASCII");
  expect_refused("\xff", 1, "not ASCII");
  expect_refused("a = 1 \xef\xbb\xbf", 1, "not ASCII");  // a byte order mark later in the file
}

// regression: toml++ aborts at some control characters if it is compiled with assertions
TEST(TomlCharacters, RefusesControlCharactersEverywhere) {
  expect_refused(std::string_view{"a = 1\n\0", 7}, 2, "code 0");
  expect_refused("# \x01", 1, "code 1");
  expect_refused("a = \"\x1f\"", 1, "code 31");
  expect_refused("a = '\x7f'", 1, "code 127");
}

}  // namespace
}  // namespace flotilla
