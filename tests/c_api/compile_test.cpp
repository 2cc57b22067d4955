// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flotilla_program_compile.
#include <string>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

using CCompile = c_api_test;
FLOTILLA_C_API(CCompile);

constexpr char source[] =
    "template <int k> __global__ void add(int* x) { *x += k * FACTOR; }\n"
    "extern \"C\" __global__ void one(int* x) { *x = 1; }\n";

// requirement
TEST_P(CCompile, CompilesAndFindsKernels) {
  char const* const defines[] = {"FACTOR=2", nullptr};
  char const* const expressions[] = {"add<3>", nullptr};
  flotilla_compile_options options = FLOTILLA_COMPILE_OPTIONS_INIT;
  options.defines = defines;
  options.name_expressions = expressions;
  options.no_cache = 1;
  char log[64] = "x";
  options.log = log;
  options.log_bytes = sizeof log;
  flotilla_program made{};
  ASSERT_EQ(flotilla_program_compile(rt, source, &options, &made), FLOTILLA_SUCCESS)
      << flotilla_last_error();
  EXPECT_STREQ(log, "");
  flotilla_kernel kernel{};
  EXPECT_EQ(flotilla_program_kernel(made, "one", &kernel), FLOTILLA_SUCCESS);
  EXPECT_EQ(flotilla_program_kernel(made, "add<3>", &kernel), FLOTILLA_SUCCESS);
  EXPECT_EQ(flotilla_program_kernel(made, "add<4>", &kernel), FLOTILLA_UNKNOWN_SYMBOL);
}

// requirement: the log is there, and is cut off if the memory is too small
TEST_P(CCompile, GivesTheLog) {
  flotilla_compile_options options = FLOTILLA_COMPILE_OPTIONS_INIT;
  options.no_cache = 1;
  options.name = "mine.cu";
  std::string log(100000, 'x');
  options.log = log.data();
  options.log_bytes = log.size();
  flotilla_program made{};
  char const bad[] = "\nextern \"C\" __global__ void f() { missing(); }";
  ASSERT_EQ(flotilla_program_compile(rt, bad, &options, &made), FLOTILLA_COMPILE_ERROR);
  EXPECT_EQ(made.id, 0u);
  EXPECT_EQ(std::string{flotilla_last_error()}.find("mine.cu:2: "), 0u) << flotilla_last_error();
  log.resize(log.find('\0'));
  EXPECT_NE(log.find("missing"), std::string::npos);
  std::string cut(10, 'x');
  options.log = cut.data();
  options.log_bytes = 5;
  ASSERT_EQ(flotilla_program_compile(rt, bad, &options, &made), FLOTILLA_COMPILE_ERROR);
  EXPECT_EQ(cut, log.substr(0, 4) + std::string(1, '\0') + "xxxxx");
}

// requirement
TEST_P(CCompile, RefusesBadCalls) {
  flotilla_program made{};
  flotilla_compile_options options = FLOTILLA_COMPILE_OPTIONS_INIT;
  EXPECT_EQ(flotilla_program_compile(rt, nullptr, &options, &made), FLOTILLA_INVALID_ARGUMENT);
  EXPECT_EQ(flotilla_program_compile(rt, source, &options, nullptr), FLOTILLA_INVALID_ARGUMENT);
  options.size = 8;
  EXPECT_EQ(flotilla_program_compile(rt, source, &options, &made), FLOTILLA_INVALID_ARGUMENT);
  options = FLOTILLA_COMPILE_OPTIONS_INIT;
  options.log = reinterpret_cast<char*>(&made);
  EXPECT_EQ(flotilla_program_compile(rt, source, &options, &made), FLOTILLA_INVALID_ARGUMENT);
  options = FLOTILLA_COMPILE_OPTIONS_INIT;
  options.standard = 11;
  EXPECT_EQ(flotilla_program_compile(rt, source, &options, &made), FLOTILLA_INVALID_ARGUMENT);
  EXPECT_NE(std::string{flotilla_last_error()}.find("compile_options::standard"),
            std::string::npos);
  options = FLOTILLA_COMPILE_OPTIONS_INIT;
  options.cpu_compiler = "/no/such";
  EXPECT_EQ(flotilla_program_compile(rt, source, &options, &made), FLOTILLA_NO_COMPILER);
  EXPECT_EQ(flotilla_program_compile({}, source, nullptr, &made), FLOTILLA_INVALID_HANDLE);
}

}  // namespace
}  // namespace flotilla::test
