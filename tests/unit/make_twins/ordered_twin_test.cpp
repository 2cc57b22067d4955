// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What the ordered twin of a kernel looks like, and which kernels have none. Every text is also
// assembled.
#include <gmock/gmock.h>

#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the ordered twin of `k`, or an empty text. Checks that the module is correct PTX.
std::string ordered_twin(std::string const& ptx) {
  module_with_twins const made = add_twins(ptx);
  EXPECT_FALSE(twin_of(made).empty()) << "the kernel has no twin";
  if (!std::string_view(FLOTILLA_TEST_PTXAS).empty()) { assemble(made.ptx); }
  std::size_t const name = made.ptx.find(".entry k__flotilla_twin1_ordered(");
  if (name == std::string::npos) { return {}; }
  return made.ptx.substr(name, made.ptx.find("\n}\n", name) + 3 - name);
}

TEST(OrderedTwin, TakesATicketAndCountsItsEnd) {
  std::string const twin = ordered_twin(kernel_with("\tmov.u32 %r1, %ctaid.x;\n"));
  EXPECT_THAT(twin, HasSubstr(".param .u64 k__flotilla_twin1_ordered_param_12\n"));
  EXPECT_THAT(twin, Not(HasSubstr("%flotilla_block, %ctaid.x")));
  EXPECT_THAT(twin,
              HasSubstr("ld.shared.u32 \t%flotilla_block, [k__flotilla_twin1_ordered_shared]"));
  EXPECT_THAT(twin, HasSubstr("mov.u32 %r1, %flotilla_ctaid_x;"));
  std::size_t const waits = twin.find("ld.acquire.gpu.global.u32");
  std::size_t const body = twin.find("mov.u32 %r1, %flotilla_ctaid_x;");
  std::size_t const ends = twin.find("red.release.gpu.global.add.u32");
  EXPECT_LT(waits, body) << "the block waits before the kernel's code";
  EXPECT_LT(body, ends);
  EXPECT_NE(ends, std::string::npos);
  for (char const* const placeholder : {"@words@", "@shared@", "@orders@", "@edges@"}) {
    EXPECT_THAT(twin, Not(HasSubstr(placeholder)));
  }
}

TEST(OrderedTwin, ReplacesEveryReturn) {
  std::string const twin =
      ordered_twin(kernel_with("\t@%p1 ret;\n\t@!%p2 exit;\n\t{ .reg .b32 t; @%p3 ret.uni; }\n"));
  EXPECT_THAT(twin, HasSubstr("\t@%p1 bra $flotilla_end;\n"));
  EXPECT_THAT(twin, HasSubstr("\t@!%p2 bra $flotilla_end;\n"));
  EXPECT_THAT(twin, HasSubstr("@%p3 bra $flotilla_end;"));
  std::string const body = twin.substr(0, twin.find("$flotilla_end:"));
  EXPECT_THAT(body, Not(HasSubstr("ret;")));
  EXPECT_THAT(body, Not(HasSubstr("exit;")));
}

TEST(OrderedTwin, LoadsNothingThroughCachesThatMissOtherBlocks) {
  std::string const ptx = kernel_with(
      "\tld.global.nc.u32 %r1, [%rd1];\n\tld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%r2, %r3}, "
      "[%rd2];\n\tld.global.u32 %r4, [%rd3];\n");
  std::string const twin = ordered_twin(ptx);
  EXPECT_THAT(twin, HasSubstr("\tld.global.u32 %r1, [%rd1];\n"));
  EXPECT_THAT(twin, HasSubstr("\tld.global.L1::no_allocate.L2::128B.v2.u32 {%r2, %r3}, [%rd2];\n"));
  EXPECT_THAT(twin, Not(HasSubstr(".nc")));
  EXPECT_THAT(twin_of(add_twins(ptx)), HasSubstr("\tld.global.nc.u32 %r1, [%rd1];\n"))
      << "the plain twin keeps them";
}

TEST(OrderedTwin, SomeKernelsHaveNone) {
  std::string const function_that = ".func f() { .reg .b32 %r<2>; .reg .b64 %rd<2>; ";
  std::string const call = "\tcall.uni f, ();\n";
  EXPECT_NE(ordered_twin(kernel_with(call, "", function_that + "ret; }\n")), "");
  EXPECT_EQ(ordered_twin(kernel_with(call, "", function_that + "exit; }\n")), "");
  EXPECT_EQ(
      ordered_twin(kernel_with(call, "", function_that + "ld.global.nc.u32 %r1, [%rd1]; ret; }\n")),
      "");
  EXPECT_EQ(ordered_twin(kernel_with("\tldu.global.u32 %r1, [%rd1];\n")), "");
  EXPECT_EQ(ordered_twin(kernel_with("\tsuld.b.1d.b32.trap %r1, [%rd1, {%r2}];\n")), "");
}

TEST(OrderedTwin, NeedsRoomInSharedMemory) {
  auto const with_shared = [](std::string const& variables) {
    return ordered_twin(kernel_with("\tmov.u32 %r1, s;\n", "", variables));
  };
  EXPECT_NE(with_shared(".shared .align 4 .b8 s[48896];\n"), "");
  EXPECT_EQ(with_shared(".shared .align 4 .b8 s[48897];\n"), "");
  EXPECT_EQ(with_shared(".shared .align 8 .b64 s[64][96];\n"), "");
  EXPECT_NE(with_shared(".shared .b32 s;\n.shared .b8 other[40000];\n"), "")
      << "the kernel does not use the other variable";
  EXPECT_NE(with_shared(".extern .shared .align 16 .b8 s[];\n"), "");
  EXPECT_EQ(ordered_twin(kernel_with("\t.shared .b32 s[12000];\n\tmov.u32 %r1, s;\n"
                                     "\t.shared .b32 t[250];\n\tmov.u32 %r2, t;\n")),
            "");
}

}  // namespace
}  // namespace flotilla::make_twins
