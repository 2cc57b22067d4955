// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "base/utf8.hpp"

namespace flotilla::base {
namespace {

// requirement: characters of each length stay as they are
TEST(Utf8, ValidTextsStay) {
  for (std::string const text :
       {"", "plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2",
        "\xed\x9f\xbf\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
}

// boundary: what is not UTF-8 becomes '?', and the rest stays
TEST(Utf8, OtherBytesAreReplaced) {
  struct row {
    std::string text, expected;
  };
  for (row const& each : {
           row{"a\x80z", "a?z"},                  // not the first byte of a character
           row{"\xc3(", "?("},                    // a character that does not go on
           row{"x\xc3", "x?"},                    // the text ends inside a character
           row{"\xe2\x82", "??"},                 //
           row{"\xc0\xaf\xe0\x80\xaf", "?????"},  // longer than necessary
           row{"\xed\xa0\x80", "???"},            // a surrogate
           row{"\xf4\x90\x80\x80", "????"},       // above 10FFFF
           row{"\xff\xfe", "??"},
       }) {
    EXPECT_FALSE(is_utf8(each.text));
    EXPECT_EQ(as_utf8(each.text), each.expected);
    EXPECT_TRUE(is_utf8(as_utf8(each.text)));
  }
}

}  // namespace
}  // namespace flotilla::base
