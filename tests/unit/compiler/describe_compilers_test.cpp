// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/compiler_report.hpp>

#include "support/child.hpp"
#include "support/thrown.hpp"
#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

using test::HasSubstr;

class DescribeCompilers : public test::folder_fixture {
 protected:
  [[nodiscard]] compile_options options() const {
    compile_options made;
    made.cache_directory = folder() / "cache";
    return made;
  }
};

// requirement
TEST_F(DescribeCompilers, NamesTheCompilerAndItsVersion) {
  write("c++", "#!/bin/sh\necho my compiler 1.2\necho more\n");
  std::filesystem::permissions(folder() / "c++", std::filesystem::perms{0700});
  compile_options with = options();
  with.cpu_compiler = folder() / "c++";
  compiler_report const seen = describe_compilers(with);
  EXPECT_TRUE(seen.has_cpu_compiler);
  EXPECT_EQ(seen.cpu_text, (folder() / "c++").string() + ", my compiler 1.2");
}

// requirement: what is missing is no error, and the report says why
TEST_F(DescribeCompilers, SaysWhatIsMissing) {
  compile_options with = options();
  with.cpu_compiler = "/no/such/compiler";
  with.nvrtc = "/no/such/library";
  with.cache_directory = "/proc/flotilla";
  compiler_report const seen = describe_compilers(with);
  EXPECT_FALSE(seen.has_cpu_compiler);
  EXPECT_THAT(seen.cpu_text, HasSubstr("'/no/such/compiler' is not a program"));
  EXPECT_FALSE(seen.has_nvrtc);
  EXPECT_THAT(seen.nvrtc_text, HasSubstr("/no/such/library"));
  EXPECT_FALSE(seen.has_cache);
  EXPECT_THAT(seen.cache_text, HasSubstr("/proc/flotilla"));
  EXPECT_FALSE(has_logged("warning")) << "the report says it";
}

// requirement
TEST_F(DescribeCompilers, DescribesTheCache) {
  write("cache/one.kernels", "0123456789");
  std::filesystem::permissions(folder() / "cache", std::filesystem::perms{0700});
  compiler_report const seen = describe_compilers(options());
  EXPECT_TRUE(seen.has_cache);
  EXPECT_EQ(seen.cache_directory, folder() / "cache");
  EXPECT_EQ(seen.cache_entries, 1u);
  EXPECT_EQ(seen.cache_bytes, 10u);
  compile_options without = options();
  without.cache = false;
  EXPECT_FALSE(describe_compilers(without).has_cache);
  EXPECT_THAT(describe_compilers(without).cache_text, HasSubstr("compile_options::cache is false"));
}

// boundary
TEST_F(DescribeCompilers, RefusesRelativePaths) {
  compile_options with;
  with.nvrtc = "libnvrtc.so";
  EXPECT_THAT(test::thrown<invalid_argument>([&] { static_cast<void>(describe_compilers(with)); }),
              HasSubstr("compile_options::nvrtc"));
}

}  // namespace
}  // namespace flotilla::compiler
