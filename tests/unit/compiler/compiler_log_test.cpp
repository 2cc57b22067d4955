// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler_log.hpp"

#include <gtest/gtest.h>

namespace flotilla::compiler {
namespace {

void expect_first(std::string_view log, std::string const& file, std::size_t line,
                  std::string const& text) {
  first_error const found = find_first_error(log);
  EXPECT_EQ(found.file, file) << log;
  EXPECT_EQ(found.line, line) << log;
  EXPECT_EQ(found.text, text) << log;
}

// requirement: the forms of g++, clang and NVRTC
TEST(CompilerLog, FindsTheFirstErrorOfEachCompiler) {
  expect_first(
      "a.cu: In function 'f':\na.cu:3:7: warning: x\na.cu:4:9: error: no y\nb:5:1: error: z",
      "a.cu", 4, "no y");
  expect_first("a.cu(2): warning #177-D: x\n\na.cu(12): error: identifier \"y\" is undefined\n",
               "a.cu", 12, "identifier \"y\" is undefined");
  expect_first("a.cu(1): catastrophic error: cannot open source file \"q.h\"", "a.cu", 1,
               "cannot open source file \"q.h\"");
  expect_first("a b(1).cu:7:1: fatal error: q.h: No such file or directory", "a b(1).cu", 7,
               "q.h: No such file or directory");
  expect_first("a.cu:3: error: x", "a.cu", 3, "x");
  expect_first("a.cu(4): error #20: x", "a.cu", 4, "x");
}

// regression: an error in a macro of the command line had no line
TEST(CompilerLog, AnErrorInAMacroIsWhereTheMacroIsUsed) {
  expect_first(
      "a.cu: In function 'f':\n<command-line>: error: no x\na.cu:6:23: note: in expansion of "
      "macro 'X'\n",
      "a.cu", 6, "<command-line>: error: no x");
}

// boundary
TEST(CompilerLog, LogsWithoutAPlace) {
  expect_first("", "", 0, "");
  expect_first("collect2: error: ld returned 1 exit status\n", "", 0,
               "collect2: error: ld returned 1 exit status");
  compile_error const made = source_does_not_compile("mine.cu", "something\n");
  EXPECT_EQ(made.source(), "mine.cu");
  EXPECT_EQ(made.line(), 0u);
  EXPECT_STREQ(made.what(), "mine.cu does not compile\nsomething");
  EXPECT_EQ(made.log(), "something\n");
}

}  // namespace
}  // namespace flotilla::compiler
