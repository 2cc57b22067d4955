// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The cache of compiled kernels, as a program sees it.
#include <gtest/gtest.h>

#include <chrono>

#include "support/child.hpp"
#include "unit/compiler/compile_fixture.hpp"

namespace flotilla::test {
namespace {

class CompileCache : public compile_fixture {
 protected:
  static constexpr char source[] =
      "#include <value.hpp>\nextern \"C\" __global__ void f(float* x, int n) { x[0] = VALUE; }";
  void SetUp() override {
    compile_fixture::SetUp();
    write("own/value.hpp", "#define VALUE 1");
    options_.include_directories = {folder() / "own"};
  }
  /// Whether the result came from the cache: a compiler that fails does not disturb then.
  float value() { return run(compiled(source), "f")[0]; }
};

// requirement: a hit starts no compiler, and is fast
TEST_F(CompileCache, AHitNeedsNoCompiler) {
  using clock = std::chrono::steady_clock;
  auto const begin = clock::now();
  EXPECT_EQ(value(), 1.0f);
  auto const compiled_at = clock::now();
  EXPECT_FALSE(has_logged("taken from the cache"));
  EXPECT_EQ(value(), 1.0f);
  auto const end = clock::now();
  EXPECT_TRUE(has_logged("taken from the cache"));
  EXPECT_EQ(cache_entries(), 1u);
  EXPECT_LT(10 * (end - compiled_at), compiled_at - begin);
  RecordProperty("compiled_us", std::to_string((compiled_at - begin).count() / 1000));
  RecordProperty("hit_us", std::to_string((end - compiled_at).count() / 1000));
}

// requirement
TEST_F(CompileCache, AChangedHeaderIsCompiledAgain) {
  EXPECT_EQ(value(), 1.0f);
  write("own/value.hpp", "#define VALUE 2");
  EXPECT_EQ(value(), 2.0f);
  write("own/value.hpp", "#define VALUE 1");
  EXPECT_EQ(value(), 1.0f);
  EXPECT_EQ(cache_entries(), 2u);
}

// requirement: a header that appears earlier in the search is used
TEST_F(CompileCache, ANewHeaderThatHidesAnotherIsUsed) {
  write("front/other.hpp", "");
  options_.include_directories = {folder() / "front", folder() / "own"};
  EXPECT_EQ(value(), 1.0f);
  write("front/value.hpp", "#define VALUE 3");
  EXPECT_EQ(value(), 3.0f);
}

// requirement: every option that changes the result is a part of the key
TEST_F(CompileCache, OtherOptionsAreCompiledAgain) {
  static_cast<void>(value());
  std::size_t expected = 1;
  auto const expect_new = [&](auto const& change) {
    change();
    static_cast<void>(value());
    EXPECT_EQ(cache_entries(), ++expected);
  };
  expect_new([&] { options_.defines = {"ANOTHER_MACRO"}; });
  expect_new([&] { options_.name = "other.cu"; });
  expect_new([&] { options_.cpu_options = {"-O1"}; });
  expect_new([&] { options_.fast_math = true; });
  expect_new([&] { options_.name_expressions = {"f"}; });
  options_.timeout = std::chrono::minutes{1};  // does not change the result
  static_cast<void>(value());
  EXPECT_EQ(cache_entries(), expected);
}

// requirement: a damaged entry is compiled again, not trusted
TEST_F(CompileCache, ADamagedEntryIsCompiledAgain) {
  EXPECT_EQ(value(), 1.0f);
  for (auto const& each : std::filesystem::directory_iterator{options_.cache_directory}) {
    std::fstream file{each.path(), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(1000);
    file.put('!');
    file.put('?');
  }
  EXPECT_EQ(value(), 1.0f);
  EXPECT_TRUE(has_logged("damaged"));
  EXPECT_FALSE(has_logged("taken from the cache"));
  EXPECT_EQ(value(), 1.0f);
  EXPECT_TRUE(has_logged("taken from the cache"));
}

// requirement
TEST_F(CompileCache, AFolderThatCannotBeUsedIsNoError) {
  options_.cache_directory = "/proc/flotilla";
  EXPECT_EQ(value(), 1.0f);
  EXPECT_TRUE(has_logged("kernels are compiled without a cache"));
}

// requirement
TEST_F(CompileCache, CanBeTurnedOff) {
  options_.cache = false;
  EXPECT_EQ(value(), 1.0f);
  EXPECT_FALSE(std::filesystem::exists(options_.cache_directory));
}

// requirement: without a list of the headers, nothing is kept
TEST_F(CompileCache, ComputedIncludesAreNotCached) {
  static_cast<void>(
      compiled("#define NAME <value.hpp>\n#include NAME\nextern \"C\" __global__ void "
               "f(float* x, int n) { x[0] = VALUE; }"));
  EXPECT_FALSE(std::filesystem::exists(options_.cache_directory));
  EXPECT_TRUE(has_logged("the cache is not used"));
}

// requirement: the default folder is $XDG_CACHE_HOME/flotilla, or ~/.cache/flotilla
TEST_F(CompileCache, TheDefaultFolder) {
  FLOTILLA_EXPECT_IN_CHILD([&] {
    compile_options defaults;
    runtime rt{{.devices = "cpu"}};
    ::setenv("XDG_CACHE_HOME", (folder() / "xdg").c_str(), 1);
    static_cast<void>(compile(rt, scale_source, defaults));
    EXPECT_TRUE(std::filesystem::exists(folder() / "xdg/flotilla"));
    ::setenv("XDG_CACHE_HOME", "relative", 1);  // the specification of XDG: to be ignored
    ::setenv("HOME", folder().c_str(), 1);
    static_cast<void>(compile(rt, scale_source, defaults));
    EXPECT_TRUE(std::filesystem::exists(folder() / ".cache/flotilla"));
  });
}

using CompileProcesses = folder_fixture;

// requirement: two processes at once
TEST_F(CompileProcesses, CompileAtTheSameTime) {
  FLOTILLA_EXPECT_IN_CHILD([&] {
    compile_options options;
    options.cache_directory = folder() / "cache";
    auto const work = [&] {
      runtime rt{{.devices = "cpu"}};
      program const loaded = compile(rt, scale_source, options);
      return loaded.kernel_names() == std::vector<std::string>{"scale"} ? 0 : 1;
    };
    pid_t const children[] = {start_forked(work), start_forked(work)};
    for (pid_t const each : children) { EXPECT_EQ(result_of(each), 0); }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{options.cache_directory},
                            std::filesystem::directory_iterator{}),
              1);
  });
}

}  // namespace
}  // namespace flotilla::test
