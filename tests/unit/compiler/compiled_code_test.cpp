// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiled_code.hpp"

#include <gtest/gtest.h>

#include <string>

#include "compiler/digest.hpp"

namespace flotilla::compiler {
namespace {

compiled_code example() {
  return {std::string("code\0with\nzero", 14), {{"scale<float>", "_Z5scale"}, {"b", ""}}, {"note"}};
}

// requirement
TEST(CompiledCode, IsTheSameAfterUnpacking) {
  EXPECT_EQ(unpack(pack(example())), example());
  EXPECT_EQ(unpack(pack({})), compiled_code{});
}

// requirement: a damaged file is found, whichever byte is damaged
TEST(CompiledCode, EveryChangedByteIsFound) {
  std::string const file = pack(example());
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] ^= 1;
    EXPECT_EQ(unpack(damaged), std::nullopt) << i;
  }
}

// requirement: a file that another process has not finished is found
TEST(CompiledCode, EveryShorterFileIsFound) {
  std::string const file = pack(example());
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(unpack(file.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(unpack(file + "x"), std::nullopt);
}

// error guess: the checksum is right, but the lengths are not
TEST(CompiledCode, WrongLengthsAreFound) {
  for (std::string const body : {"", "5\nab", "x\nab", "99999999999999999999\nab", "-1\n",
                                 "0\n1\n0", "0\n1\n9", "0\n1\n01\n00\nx"}) {
    EXPECT_EQ(unpack("flotilla kernels 1\n" + digest_of(body) + "\n" + body), std::nullopt) << body;
  }
}

// requirement: the known name-based UUID of the empty name space
TEST(Digest, IsTheNameBasedUuid) {
  EXPECT_EQ(digest_of("abc").size(), 32u);
  EXPECT_EQ(digest_of("abc")[12], '5');  // the version of such a UUID
  EXPECT_NE(digest_of("abc"), digest_of("abd"));
}

// error guess: the same characters, divided in another way
TEST(Digest, KeysDistinguishParts) {
  key_text one, two, three;
  one.add("a", "bc");
  two.add("ab", "c");
  three.add("a", "b");
  three.add("a", "c");
  EXPECT_NE(one.digest(), two.digest());
  EXPECT_NE(one.digest(), three.digest());
}

}  // namespace
}  // namespace flotilla::compiler
