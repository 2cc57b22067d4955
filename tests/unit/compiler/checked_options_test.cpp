// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/checked_options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <flotilla/error/error.hpp>

#include "support/thrown.hpp"

namespace flotilla::compiler {
namespace {

void expect_refused(std::string const& begin, std::function<void(compile_options&)> const& change) {
  compile_options options;
  change(options);
  try {
    static_cast<void>(checked_options(options));
    ADD_FAILURE() << "not refused: " << begin;
  } catch (invalid_argument const& why) {
    EXPECT_EQ(std::string{why.what()}.substr(0, begin.size()), begin) << why.what();
  }
}

// requirement: bad options are refused by name
TEST(CheckedOptions, NamesTheWrongOption) {
  expect_refused("compile_options::name: a text is empty", [](auto& o) { o.name = ""; });
  expect_refused("compile_options::name: 'a\"b'", [](auto& o) { o.name = "a\"b"; });
  expect_refused("compile_options::defines: '3=4'", [](auto& o) { o.defines = {"A", "3=4"}; });
  expect_refused("compile_options::defines: 'A\nB'", [](auto& o) { o.defines = {"A\nB"}; });
  expect_refused("compile_options::defines: '=1'", [](auto& o) { o.defines = {"=1"}; });
  expect_refused("compile_options::include_directories: there is no folder '/no/such'",
                 [](auto& o) { o.include_directories = {"/no/such"}; });
  expect_refused("compile_options::name_expressions: 'a;b'",
                 [](auto& o) { o.name_expressions = {"a;b"}; });
  expect_refused("compile_options::standard: it must be 17 or 20, but is 14",
                 [](auto& o) { o.standard = 14; });
  expect_refused("compile_options::cpu_compiler: 'g++' is not an absolute path",
                 [](auto& o) { o.cpu_compiler = "g++"; });
  expect_refused("compile_options::nvrtc: 'x'", [](auto& o) { o.nvrtc = "x"; });
  expect_refused("compile_options::cache_directory: 'x'", [](auto& o) { o.cache_directory = "x"; });
  expect_refused("compile_options::timeout: it must be at least 1 ms, but is 0 ms",
                 [](auto& o) { o.timeout = std::chrono::milliseconds{0}; });
  expect_refused("compile_options::cache_bytes", [](auto& o) { o.cache_bytes = 0; });
}

// requirement: an option that another member sets, or whose file the cache would not see
TEST(CheckedOptions, RefusesOptionsOfCompilersThatWouldDisturb) {
  for (std::string const each : {"-DA", "-I/x", "-std=c++17", "-include x", "@file", "-ofile", "-E",
                                 "-ffast-math", "-Ofast", "-L/x", "-lm", "-specs=x", "file.cpp"}) {
    expect_refused("compile_options::cpu_options: ", [&](auto& o) { o.cpu_options = {each}; });
  }
  for (std::string const each :
       {"-DA", "--gpu-architecture=sm_90", "-arch=sm_90", "--include-path=x", "--use_fast_math",
        "-G", "-rdc=true", "--pre-include=x", "x"}) {
    expect_refused("compile_options::gpu_options: ", [&](auto& o) { o.gpu_options = {each}; });
  }
}

// requirement
TEST(CheckedOptions, AcceptsGoodOptions) {
  compile_options options;
  options.defines = {"A", "B_2=x y", "C="};
  options.include_directories = {"."};
  options.name_expressions = {"scale<float, 3>", "&n::f"};
  options.cpu_options = {"-march=native", "-O2", "-g", "-Wall", "-ffinite-math-only"};
  options.gpu_options = {"--maxrregcount=64", "-lineinfo", "--extra-device-vectorization"};
  options.standard = 17;
  compile_options const made = checked_options(options);
  EXPECT_TRUE(made.include_directories[0].is_absolute());
}

}  // namespace
}  // namespace flotilla::compiler
