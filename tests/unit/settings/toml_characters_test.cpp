// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Characters that TOML does not allow. toml++ must never see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>
#include <flotilla/settings/settings.hpp>

#include "fuzz/memory_file.hpp"
#include "settings/toml_characters.hpp"

namespace flotilla {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

settings read(std::string_view text) {
  test::memory_file const file{reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
  return settings::read(file.path());
}

/// Expects that a file with `text` is refused at a line.
void expect_refused(std::string_view text, std::size_t line, char const* word) {
  SCOPED_TRACE(text);
  try {
    static_cast<void>(read(text));
    FAIL() << "it is not refused";
  } catch (unknown_setting const& why) {
    EXPECT_THAT(why.what(),
                AllOf(HasSubstr("line " + std::to_string(line) + ":"), HasSubstr(word)));
  }
}

// requirement: every character may be in a comment or string, except control characters
TEST(TomlCharacters, AllowsTextInStringsAndComments) {
  for (std::string_view const text :
       {"", "lanes = 4\r\n\t# tab", "# Größe\nlanes = 4", "\xef\xbb\xbf# with a byte order mark",
        "\xef\xbb\xbflanes = 4 # é"}) {
    SCOPED_TRACE(text);
    EXPECT_NO_THROW(static_cast<void>(read(text)));
  }
  // These are valid TOML too, but there is no setting `a`.
  for (std::string_view const text :
       {"a = \"Größe\" # é", "a = 'é'", "a = \"\"\"é\n\"é\"\n\"\"\"", "a = '''é\n'é'\n'''",
        "a = \"\\\"é\"", "a = \"\\\\\" # é", "a = \"'\" # é", "a = '\"' # é"}) {
    expect_refused(text, 1, "'a'");
  }
}

// regression: toml++ has undefined behaviour if such a character is outside of strings
TEST(TomlCharacters, RefusesOtherCharactersOutside) {
  expect_refused("é = 4", 1, "not ASCII");
  expect_refused("lanes = 4\nlanes\xc2\xa0= 5", 2, "not ASCII");
  expect_refused("a = \"x\" é", 1, "not ASCII");
  expect_refused("a = 'x\\' é", 1, "not ASCII");  // a literal string has no escapes
  expect_refused("# x\né", 2, "not ASCII");
  expect_refused("a = \"\"\"x\ny\"\"\" é", 2, "not ASCII");
  expect_refused("\xff", 1, "not ASCII");
  expect_refused("\xef\xbb\xbf\xef\xbb\xbf", 1, "not ASCII");  // two byte order marks
}

// regression: in a file that is not valid TOML, what looks like a string may be none
TEST(TomlCharacters, RefusesThemBehindOtherErrors) {
  expect_refused("a = \"open\né", 1, "string");  // a string ends with its line
  expect_refused("\"*\"=0V\"+\"*\"parors\xef\xb8\xbf\nh3.0\n", 1, "");
}

// regression: toml++ aborts at some control characters if it is compiled with assertions
TEST(TomlCharacters, RefusesControlCharactersEverywhere) {
  expect_refused(std::string_view{"a = 1\n\0", 7}, 2, "code 0");
  expect_refused("# \x01", 1, "code 1");
  expect_refused("a = \"\x1f\"", 1, "code 31");
  expect_refused("a = '\x7f'", 1, "code 127");
}

// unit: lines and columns count from 1, and columns are bytes
TEST(TomlCharacters, FindsTheByteOfAPosition) {
  std::string_view const text = "ab\n\xc3\xa9x\n";
  EXPECT_FALSE(is_beyond_ascii(text, 1, 1));
  EXPECT_TRUE(is_beyond_ascii(text, 2, 1));
  EXPECT_TRUE(is_beyond_ascii(text, 2, 2));
  EXPECT_FALSE(is_beyond_ascii(text, 2, 3));
  EXPECT_FALSE(is_beyond_ascii(text, 3, 1));
  EXPECT_FALSE(is_beyond_ascii(text, 9, 1));
  EXPECT_FALSE(is_beyond_ascii(text, 1, 0));
  EXPECT_EQ(with_ascii_only(text), "ab\n??x\n");
}

}  // namespace
}  // namespace flotilla
