// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What the twin of a kernel looks like. Every text is also assembled.
#include <gmock/gmock.h>

#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the twin of `k`, after a check that the module with the twin is correct PTX.
std::string checked_twin(std::string const& ptx) {
  module_with_twins const made = add_twins(ptx);
  EXPECT_TRUE(made.unsuitable.empty()) << made.unsuitable.at(0).reason;
  if (!std::string_view(FLOTILLA_TEST_PTXAS).empty()) { assemble(made.ptx); }
  return twin_of(made);
}

TEST(TwinWriter, KeepsTheModuleAndAddsATwinWithItsParameters) {
  std::string const ptx = kernel_with("");
  module_with_twins const made = add_twins(ptx);
  EXPECT_EQ(made.target, "sm_80");
  EXPECT_THAT(made.ptx, ::testing::StartsWith(ptx.substr(0, ptx.size() - 1)));
  EXPECT_EQ(twin_of(made),
            ".visible .entry k__flotilla_twin1(\n"
            "\t.param .u64 k__flotilla_twin1_param_0,\n"
            "\t.param .u64 k__flotilla_twin1_param_1,\n"
            "\t.param .u32 k__flotilla_twin1_param_2,\n"
            "\t.param .u32 k__flotilla_twin1_param_3\n"
            ")\n{\n\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\t.reg .pred %p<9>;\n\tret;\n\n}\n");
}

TEST(TwinWriter, LoadsArgumentsFromTheRecord) {
  std::string const twin =
      checked_twin(kernel_with("\tld.param.u64 %rd1, [k_param_0];\n"
                               "\t@%p1 ld.param.u32 \t%r1, [ k_param_1 + 0 ];\n"
                               "\tld.param.v2.u32 {%r2, %r3}, [k_param_0+0];\n"
                               "\tld.param::entry.u16 %r4, [k_param_1+0x2];\n"
                               "\tld.param.u8 %r5, [k_param_1+-4];\n"
                               "lab: ld.param.b32 %r6, [k_param_1];\n"));
  // The record has 16 bytes.
  EXPECT_THAT(twin, HasSubstr("\tld.global.u64 %rd1, [%flotilla_record+16];\n"));
  EXPECT_THAT(twin, HasSubstr("\t@%p1 ld.global.u32 \t%r1, [ %flotilla_record+24 ];\n"));
  EXPECT_THAT(twin, HasSubstr("\tld.global.v2.u32 {%r2, %r3}, [%flotilla_record+16];\n"));
  EXPECT_THAT(twin, HasSubstr("\tld.global.u16 %r4, [%flotilla_record+26];\n"));
  EXPECT_THAT(twin, HasSubstr("\tld.global.u8 %r5, [%flotilla_record+20];\n"));
  EXPECT_THAT(twin, HasSubstr("lab: ld.global.b32 %r6, [%flotilla_record+24];\n"));
  EXPECT_THAT(twin, Not(HasSubstr("k_param")));
  EXPECT_THAT(twin, HasSubstr("ld.param.u64 \t%flotilla_record, [k__flotilla_twin1_param_0];"));
  EXPECT_THAT(twin, HasSubstr("ld.param.u64 \t%flotilla_blocks, [k__flotilla_twin1_param_1];"));
  EXPECT_THAT(twin, HasSubstr("ld.param.u32 \t%flotilla_stride, [k__flotilla_twin1_param_2];"));
  EXPECT_THAT(twin, HasSubstr("ld.param.u32 \t%flotilla_each, [k__flotilla_twin1_param_3];"));
  EXPECT_THAT(twin, Not(HasSubstr("%flotilla_ctaid_x"))) << "the body reads no index";
}

TEST(TwinWriter, ReplacesTheIndexOfTheBlockAndTheSizeOfTheGrid) {
  std::string const twin = checked_twin(
      kernel_with("\tmov.u32 %r1, %ctaid.x;\n\tmov.s32 %r2, %ctaid.y;\n\tmov.b32 %r3, %ctaid.z;\n"
                  "\tmov.u32 %r4, %nctaid.x;\n\tmov.u32 %r5, %nctaid.y;\n"
                  "\tmov.u32 %r6, %nctaid.z;\n\tmov.u32 %r7, %tid.x;\n\tmov.u32 %r8, %ntid.x;\n"));
  for (char const* line : {"mov.u32 %r1, %flotilla_ctaid_x;", "mov.s32 %r2, %flotilla_ctaid_y;",
                           "mov.b32 %r3, %flotilla_ctaid_z;", "mov.u32 %r4, %flotilla_nctaid_x;",
                           "mov.u32 %r5, %flotilla_nctaid_y;", "mov.u32 %r6, %flotilla_nctaid_z;",
                           "mov.u32 %r7, %tid.x;", "mov.u32 %r8, %ntid.x;"}) {
    EXPECT_THAT(twin, HasSubstr(line));
  }
}

TEST(TwinWriter, ReadsNoIndexForTheSizeOfTheGrid) {
  std::string const twin = checked_twin(kernel_with("\tmov.u32 %r1, %nctaid.x;\n"));
  EXPECT_THAT(twin, HasSubstr("ld.global.v4.u32"));
  EXPECT_THAT(twin, Not(HasSubstr("%flotilla_ctaid_x")));
}

TEST(TwinWriter, LaysParametersOutAsC) {
  std::string const twin =
      checked_twin(std::string(header) +
                   ".entry k(.param .u8 a, .param .align 8 .b8 b[24], .param .u16 c,\n"
                   "  .param .u64 .ptr .global .align 1 d, .param .b8 e[3], .param .f32 f,\n"
                   "  .param .align 16 .b8 g[16], .param .s8 h, .param .u64 .ptr .align 16 i) {\n"
                   "  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
                   "  ld.param.u8 %r1, [a]; ld.param.u64 %rd1, [b+8]; ld.param.u16 %r2, [c];\n"
                   "  ld.param.u64 %rd2, [d]; ld.param.u8 %r3, [e+2]; ld.param.f32 %f1, [f];\n"
                   "  ld.param.v4.f32 {%f2, %f3, %f4, %f5}, [g]; ld.param.s8 %r4, [h];\n"
                   "  ld.param.u64 %rd3, [i]; ret; }\n");
  // a 0, b 8, c 32, d 40, e 48, f 52, g 64, h 80, i 88
  for (char const* line :
       {"%r1, [%flotilla_record+16]", "%rd1, [%flotilla_record+32]", "%r2, [%flotilla_record+48]",
        "%rd2, [%flotilla_record+56]", "%r3, [%flotilla_record+66]", "%f1, [%flotilla_record+68]",
        "%f5}, [%flotilla_record+80]", "%r4, [%flotilla_record+96]",
        "%rd3, [%flotilla_record+104]"}) {
    EXPECT_THAT(twin, HasSubstr(line));
  }
  EXPECT_THAT(twin, ::testing::StartsWith(".entry k__")) << "a kernel without linkage";
}

TEST(TwinWriter, KeepsDirectivesAndLinkage) {
  std::string ptx = kernel_with("", ".maxntid 128, 1, 1\n.minnctapersm 2\n.pragma \"nounroll\";\n");
  EXPECT_THAT(checked_twin(ptx),
              HasSubstr(")\n.maxntid 128, 1, 1\n.minnctapersm 2\n.pragma \"nounroll\";\n{\n"));
  EXPECT_THAT(checked_twin(kernel_with("", ".reqntid 64")), HasSubstr(")\n.reqntid 64\n{\n"));
  EXPECT_THAT(checked_twin(kernel_with("", ".maxntid 64\n.maxnreg 32 // few\n")),
              HasSubstr(")\n.maxntid 64\n.maxnreg 32\n{\n"));
  ptx.replace(ptx.find(".visible"), 8, ".weak");
  EXPECT_THAT(checked_twin(ptx), ::testing::StartsWith(".weak .entry k__flotilla_twin1("));
}

TEST(TwinWriter, CopiesBranchesTablesLinesAndBlocks) {
  std::string const body =
      "\t.shared .align 4 .b8 shared_of_k[64];\n"
      "\t.local .align 4 .b8 depot[16];\n"
      "\t.loc 1 5 3\n"
      "\tld.param.u32 %r1, [k_param_1];\n"
      "\t.loc 1 6 3, function_name $name, inlined_at 1 5 3\n"
      "table: .branchtargets $L1, $L2;\n"
      "\t@%p1 brx.idx %r1, table;\n"
      "$L1:\n\t.pragma \"nounroll\";\n\t@!%p1 bra $L1;\n"
      "\t// begin inline asm\n\t{ .reg .b32 t; mov.b32 t, %r1; }\n\t// end inline asm\n"
      "$L2: /* } */ mov.u32 %r2, shared_of_k;\n";
  std::string const ptx =
      kernel_with(body) + ".file 1 \"k.cu\"\n.section .debug_str\n{\n$name:\n.b8 107\n.b8 0\n}\n";
  std::string expected = body;
  expected.replace(expected.find("ld.param.u32 %r1, [k_param_1]"), 29,
                   "ld.global.u32 %r1, [%flotilla_record+24]");
  EXPECT_THAT(checked_twin(ptx), HasSubstr(expected));
}

TEST(TwinWriter, LeavesParametersOfCallsAlone) {
  std::string const twin = checked_twin(
      kernel_with("\t{ // callseq 0\n\t.param .b32 param0;\n\tst.param.b32 [param0+0], %r1;\n"
                  "\t.param .b32 retval0;\n\tcall.uni (retval0), \n\tf, \n\t(\n\tparam0\n\t);\n"
                  "\tld.param.b32 %r2, [retval0+0];\n\t} // callseq 0\n",
                  "",
                  ".func (.param .b32 func_retval0) f(.param .b32 f_param_0)\n"
                  "{ .reg .b32 %r<2>; ld.param.b32 %r1, [f_param_0]; st.param.b32 [func_retval0], "
                  "%r1; ret; }\n"));
  EXPECT_THAT(twin, HasSubstr("ld.param.b32 %r2, [retval0+0];"));
  EXPECT_THAT(twin, HasSubstr("st.param.b32 [param0+0], %r1;"));
}

TEST(TwinWriter, MakesTwinsOfAllKernels) {
  std::string const second =
      ".entry second(.param .u32 n) { .reg .b32 %r; ld.param.u32 %r, [n]; ret; }\n";
  module_with_twins const made = add_twins(kernel_with("") + second);
  EXPECT_FALSE(twin_of(made, "k").empty());
  EXPECT_THAT(twin_of(made, "second"), HasSubstr("[second__flotilla_twin1_param_0]"));
  EXPECT_THAT(made.ptx, HasSubstr(second.substr(0, second.size() - 1)));
  if (!std::string_view(FLOTILLA_TEST_PTXAS).empty()) { assemble(made.ptx); }
}

}  // namespace
}  // namespace flotilla::make_twins
