// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Texts that are not correct PTX: the error must name the line.
#include <string>

#include "make_twins/scanner.hpp"
#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

struct malformed_text {
  char const* name;
  std::string ptx;
  std::size_t line;
  std::string error;
};

// The header has 3 lines.
std::vector<malformed_text> malformed_texts() {
  std::string const h(header);
  return {
      {"Empty", "", 1, "the text is not PTX: it does not begin with .version"},
      {"OtherText", "\n#include <x>\nint main() {}\n", 3,
       "the text is not PTX: it does not begin with .version"},
      {"NoTarget", ".version 8.0\n.address_size 64\n", 2, "the module has no .target"},
      {"EndlessComment", h + "/* a\n b", 4, "the comment has no end"},
      {"AfterALongComment", h + "/* a\n b */\n}\n", 6, "'}' closes nothing"},
      {"EndlessString", h + "\n.file 1 \"a\n\"", 5, "the string has no end"},
      {"EndlessBody", h + ".entry k()\n{\n ret;\n", 5, "'{' is never closed"},
      {"EndlessParameters", h + ".entry k(\n.param .u32 a\n{ ret; }\n", 4, "'(' is never closed"},
      {"AttributeAtTheEnd", h + ".entry .attribute\n", 4,
       "the text ends where a bracket should be"},
      {"AttributeWithoutBrackets", h + ".entry .attribute a() { ret; }\n", 4,
       "a bracket should be where 'a' is"},
      {"NoBody", h + ".entry k()\n.maxntid 32\n", 5,
       "the text ends where the body of a function should be"},
      {"ClosesNothing", h + "}\n", 4, "'}' closes nothing"},
      {"ClosesAnother", h + ".entry k() {\n ld.param.u32 %r1, [a); }\n", 5, "')' closes nothing"},
      {"NoName", h + ".entry (.param .u32 a) { ret; }\n", 4, "a function has no name"},
      {"NoSemicolon", h + ".entry k() {\n ret\n}\n", 5, "';' is missing after 'ret'"},
      {"NoInstruction", h + ".entry k() {\n , ret;\n}\n", 5,
       "',' is where an instruction should be"},
      {"NoType", h + ".entry k(\n.param a) { ret; }\n", 5, "the parameter 'a' has no known type"},
      {"UnknownType", h + ".entry k(\n.param .u24 a) { ret; }\n", 5,
       "the parameter 'a' has no known type"},
      {"NoParameterName", h + ".entry k(.param .u32) { ret; }\n", 4,
       "the text ends where the name of a parameter should be"},
      {"NoComma", h + ".entry k(.param .u32 a\n.param .u32 b) { ret; }\n", 5,
       "',' should be where '.param' is"},
      {"NotAParameter", h + ".entry k(.reg .u32 a) { ret; }\n", 4,
       "'.param' should be where '.reg' is"},
      {"OddAlignment", h + ".entry k(.param .align 3 .b8 a[3]) { ret; }\n", 4,
       "the alignment 3 is not a power of two"},
      {"BadSize", h + ".entry k(.param .b8 a[x]) { ret; }\n", 4, "'x' is not a number of 32 bits"},
      {"NoSize", h + ".entry k(.param .b8 a[]) { ret; }\n", 4,
       "the size of an array is not a number"},
      {"HugeSize", h + ".entry k(.param .b64 a[4000000000]) { ret; }\n", 4,
       "the size of the parameter 'a' is impossible"},
      {"BadOffset", kernel_with("ld.param.u32 %r1, [k_param_1+4g];\n"), 12,
       "'4g' is not a number of 32 bits"},
  };
}

class Malformed : public ::testing::TestWithParam<malformed_text> {};

TEST_P(Malformed, IsRefusedWithTheLine) {
  try {
    static_cast<void>(add_twins(GetParam().ptx));
    FAIL() << "no error";
  } catch (malformed_ptx const& e) {
    EXPECT_EQ(e.what(), GetParam().error);
    EXPECT_EQ(e.line(), GetParam().line);
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, Malformed, ::testing::ValuesIn(malformed_texts()),
                         [](auto const& tested) { return tested.param.name; });

// error guess: a truncated module must give an error or a module, and never crash
TEST(TruncatedModule, IsReadOrRefused) {
  std::string const whole = kernel_with(
      "\tld.param.v2.u32 {%r1, %r2}, [k_param_0+0x4];\n\t@!%p1 bra lab;\nlab:\n"
      "\t.loc 1 2 3\n\tcall.uni (%r1), f, (a, b);\n\t.pragma \"a\\\"b\";\n",
      ".maxntid 1\n.pragma \"x\";\n", ".func (.param .b32 r) f(.param .b32 a);\n/* c */\n");
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      static_cast<void>(add_twins(std::string_view(whole).substr(0, size)));
    } catch (malformed_ptx const&) { ++refused; }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace flotilla::make_twins
