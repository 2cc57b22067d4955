// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// PTX texts, and the programs that the tests run.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "make_twins/add_twins.hpp"

namespace flotilla::make_twins {

inline constexpr std::string_view header = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// A module with the kernel `k`. It has the parameters `k_param_0` of type .u64 and `k_param_1` of
/// type .u32, and registers %r<9>, %rd<9> and %p<9>.
inline std::string kernel_with(std::string_view body, std::string_view directives = "",
                               std::string_view before = "") {
  return std::string(header) + std::string(before) +
         ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u32 k_param_1\n)\n" +
         std::string(directives) +
         "{\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\t.reg .pred %p<9>;\n" + std::string(body) +
         "\tret;\n}\n";
}

/// The text of the twin of `kernel`, or an empty text.
inline std::string twin_of(module_with_twins const& in, std::string const& kernel = "k") {
  std::size_t const name = in.ptx.find(".entry " + kernel + "__flotilla_twin1(");
  if (name == std::string::npos) { return {}; }
  std::size_t const begin = in.ptx.rfind('\n', name) + 1;
  return in.ptx.substr(begin, in.ptx.find("\n}\n", begin) + 3 - begin);
}

/// Why the only kernel of the module has no twin; empty if it has one.
inline std::string reason(std::string_view ptx) {
  module_with_twins const made = add_twins(ptx);
  return made.unsuitable.empty() ? std::string{} : made.unsuitable.at(0).reason;
}

struct ended {
  int status;
  std::string output;  // stdout and stderr
};

inline ended run(std::string const& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) { throw std::runtime_error("popen failed: " + command); }
  std::string output;
  char part[4096];
  while (std::size_t const n = std::fread(part, 1, sizeof part, pipe)) { output.append(part, n); }
  int const status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, std::move(output)};
}

inline std::string read_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) { throw std::runtime_error("cannot read " + path); }
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A path that no other test uses.
inline std::string temporary(std::string const& name) {
  auto const* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + "flotilla_" + test->test_suite_name() + "_" + test->name() + "_" +
         name;
}

#define FLOTILLA_NEED_PTXAS()                                         \
  if (std::string_view(FLOTILLA_TEST_PTXAS).empty()) {                \
    GTEST_SKIP() << "needs ptxas, but the build has no CUDA toolkit"; \
  }

/// Assembles PTX for three architectures, and returns the output of ptxas -v for the last one.
inline std::string assemble(std::string const& ptx) {
  std::string const path = temporary("assembled.ptx");
  std::ofstream(path, std::ios::binary) << ptx;
  std::string output;
  for (char const* architecture : {"sm_80", "sm_90", "sm_100"}) {
    ended const done = run("'" FLOTILLA_TEST_PTXAS "' -v -arch=" + std::string(architecture) +
                           " '" + path + "' -o /dev/null");
    EXPECT_EQ(done.status, 0) << architecture << ":\n" << done.output << ptx;
    output = done.output;
  }
  std::remove(path.c_str());
  return output;
}

}  // namespace flotilla::make_twins
