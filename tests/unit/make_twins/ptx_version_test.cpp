// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The version of the PTX language that modules with twins name.
#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The text with another version.
std::string with_version(std::string const& version, std::string text) {
  std::size_t const begin = text.find(".version ") + 9;
  return text.replace(begin, text.find('\n', begin) - begin, version);
}

std::string version_of(std::string const& ptx) {
  std::string const made = add_twins(ptx).ptx;
  std::size_t const begin = made.find(".version ") + 9;
  return made.substr(begin, made.find('\n', begin) - begin);
}

// requirement: a driver of CUDA 13.0 accepts what a later nvcc has made of ordinary code
TEST(PtxVersion, IsThatOfCuda130IfAllOfTheModuleIsOld) {
  std::string const body =
      "\tmov.u32 %r1, %tid.x;\n\tld.param::entry.b64 %rd1, [k_param_0];\n"
      "\tld.global.nc.L1::no_allocate.v2.b32 {%r2, %r3}, [%rd1+8];\n"
      "\t@!%p1 bra $L1;\n$L1:\n\t.pragma \"nounroll\";\n"
      "\tatom.relaxed.gpu.global.add.u32 %r4, [%rd1], %r1;\n\tbar.sync 0;\n";
  for (std::string const later : {"9.1", "9.5", "9.10", "10.0"}) {
    module_with_twins const made = add_twins(with_version(later, kernel_with(body)));
    EXPECT_THAT(made.ptx, StartsWith(".version 9.0\n.target sm_80\n")) << later;
    EXPECT_THAT(twin_of(made), HasSubstr("atom.relaxed.gpu.global.add.u32")) << later;
  }
}

// boundary
TEST(PtxVersion, IsNeverRaised) {
  for (std::string const kept : {"6.4", "8.3", "8.8", "9.0"}) {
    EXPECT_EQ(version_of(with_version(kept, kernel_with(""))), kept);
  }
}

// requirement: code with anything that may be new keeps its version, or its assembler refuses it
TEST(PtxVersion, IsKeptForAnythingUnknown) {
  for (std::string const body : {
           "\tfrobnicate.b32 %r1, %r2;\n",           // an instruction
           "\tadd.stochastic.f32 %r1, %r2, %r3;\n",  // a modifier
           "\tmov.b128 %r1, %r2;\n",                 // a type
           "\tld.global.v16.b32 %r1, [%rd1];\n",     // a length of vectors
           "\tld.shared::grid.b32 %r1, [%rd1];\n",   // a memory
           "\tmov.u32 %r1, %phase;\n",               // a register
           "\t.frobnicated .b32 %q1;\n",             // a directive in a function
           "\t.pragma \"frobnicate\";\n",
           "\tcvt.rn.satfinite.e2m1x2.f32 %r1, %r2, %r3;\n",
       }) {
    EXPECT_EQ(version_of(with_version("9.5", kernel_with(body))), "9.5") << body;
  }
  EXPECT_EQ(version_of(with_version("9.5", kernel_with("", ".frobnicated 8\n"))), "9.5");
  EXPECT_EQ(version_of(with_version("9.5", kernel_with("", "", ".frobnicated .b8 a;\n"))), "9.5");
  std::string other_target = with_version("9.5", kernel_with(""));
  other_target.replace(other_target.find("sm_80"), 5, "sm_999");
  EXPECT_EQ(version_of(other_target), "9.5");
}

// error guess: a version that is no number
TEST(PtxVersion, IsKeptIfItIsUnreadable) {
  for (std::string const odd : {"9", "nine.five", "9.5b"}) {
    EXPECT_EQ(version_of(with_version(odd, kernel_with(""))), odd);
  }
}

// requirement: an assembler of CUDA 13.0, if the build has that one, refuses a later version
TEST(PtxVersion, AnAssemblerAcceptsTheOlderOne) {
  FLOTILLA_NEED_PTXAS();
  std::string const file = temporary("lowered.ptx");
  for (std::string const images :
       {FLOTILLA_TEST_DIFFICULT_KERNELS, FLOTILLA_TEST_LIBRARY_KERNELS}) {
    std::string const text = with_version("9.99", read_file(images + "/gpu.80.ptx"));
    std::string const made = add_twins(text).ptx;
    EXPECT_THAT(made, Not(HasSubstr(".version 9.99")));
    std::ofstream(file) << made;
    ended const assembled =
        run("'" FLOTILLA_TEST_PTXAS "' -O0 -arch=sm_80 '" + file + "' -o /dev/null");
    EXPECT_EQ(assembled.status, 0) << assembled.output;
  }
  std::remove(file.c_str());
}

}  // namespace
}  // namespace flotilla::make_twins
