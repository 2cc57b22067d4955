// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The images that flotilla_add_kernels() built: of this test's difficult kernels, and of kernels/.
// The build has assembled their twins for each architecture.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "cpu_driver/kernel/grid.hpp"
#include "flotilla_kernels.hpp"
#include "test_make_twins_kernels.hpp"
#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

#define FLOTILLA_NEED_GPU_KERNELS() \
  if (std::string_view(FLOTILLA_TEST_PTXAS).empty()) { GTEST_SKIP() << "needs kernels for GPUs"; }

std::set<std::string> const without_twin = {"reads_index_in_function", "indexes_constant_parameter",
                                            "large_parameter", "unwanted"};

/// The names of all kernels of a PTX file.
std::set<std::string> kernels_of(std::string const& ptx) {
  static std::regex const entry("\\.entry ([A-Za-z0-9_]+)");
  std::set<std::string> names;
  for (std::sregex_iterator i(ptx.begin(), ptx.end(), entry), end; i != end; ++i) {
    names.insert((*i)[1]);
  }
  return names;
}

/// Expects that each kernel has a twin, except those in `without`.
void expect_twins(std::string const& ptx, std::set<std::string> const& without) {
  std::set<std::string> const all = kernels_of(ptx);
  EXPECT_GE(all.size(), 10u);
  for (std::string const& name : all) {
    if (name.find("__flotilla_twin1") != std::string::npos) { continue; }
    EXPECT_EQ(all.contains(name + "__flotilla_twin1"), !without.contains(name)) << name;
  }
}

TEST(BuiltImage, HasTwinsForEachArchitecture) {
  FLOTILLA_NEED_GPU_KERNELS();
  for (std::string const architecture : {"80", "90", "100"}) {
    SCOPED_TRACE(architecture);
    std::string const file = "/gpu." + architecture + ".twins.ptx";
    expect_twins(read_file(FLOTILLA_TEST_DIFFICULT_KERNELS + file), without_twin);
    expect_twins(read_file(FLOTILLA_TEST_LIBRARY_KERNELS + file), {});
  }
}

// The names of kernels are text in the machine code, which is not compressed.
TEST(BuiltImage, EmbedsTheTwins) {
  FLOTILLA_NEED_GPU_KERNELS();
  std::string_view const difficult(static_cast<char const*>(test_make_twins_kernels.gpu),
                                   test_make_twins_kernels.gpu_bytes);
  EXPECT_NE(difficult.find(".text.all_indices__flotilla_twin1"), std::string_view::npos);
  EXPECT_EQ(difficult.find(".text.unwanted__flotilla_twin1"), std::string_view::npos);
  EXPECT_NE(difficult.find(".text.unwanted"), std::string_view::npos);
  std::string_view const library(static_cast<char const*>(flotilla_kernels.gpu),
                                 flotilla_kernels.gpu_bytes);
  for (char const* name : {"saxpy", "sgemm", "sum", "sha256_blocks"}) {
    EXPECT_NE(library.find(".text." + std::string(name) + "__flotilla_twin1"),
              std::string_view::npos)
        << name;
  }
}

TEST(BuiltImage, ReportsTheKernelsWithoutTwins) {
  FLOTILLA_NEED_GPU_KERNELS();
  std::vector<module_with_twins> modules;
  for (char const* file : {"/gpu.80.ptx", "/gpu.90.ptx", "/gpu.100.ptx"}) {
    modules.push_back(add_twins(read_file(std::string(FLOTILLA_TEST_DIFFICULT_KERNELS) + file)));
  }
  EXPECT_THAT(
      report(modules),
      UnorderedElementsAre(
          ::testing::MatchesRegex("no twin of kernel reads_index_in_function: it may call "
                                  ".*index_of_block.*, which reads %ctaid.x"),
          "no twin of kernel indexes_constant_parameter: it uses the address of its parameter "
          "indexes_constant_parameter_param_0",
          "no twin of kernel large_parameter: its parameters have 4112 bytes, more than 4096"));
}

/// The registers of each kernel, for sm_90.
std::map<std::string, int> registers_of(std::string const& ptx_path) {
  ended const done =
      run("'" FLOTILLA_TEST_PTXAS "' -v -arch=sm_90 '" + ptx_path + "' -o /dev/null");
  EXPECT_EQ(done.status, 0) << done.output;
  static std::regex const line("Compiling entry function '([^']+)'|Used ([0-9]+) registers");
  std::map<std::string, int> result;
  std::string name;
  for (std::sregex_iterator i(done.output.begin(), done.output.end(), line), end; i != end; ++i) {
    if ((*i)[1].matched) {
      name = (*i)[1];
    } else {
      result[name] = std::stoi((*i)[2]);
    }
  }
  return result;
}

// A twin keeps the address of its record, the index of its block and the size of its grid.
TEST(BuiltImage, TwinsNeedFewMoreRegisters) {
  FLOTILLA_NEED_GPU_KERNELS();
  auto const registers = registers_of(FLOTILLA_TEST_LIBRARY_KERNELS "/gpu.90.twins.ptx");
  ASSERT_TRUE(registers.contains("saxpy"));
  for (auto const& [name, count] : registers) {
    auto const twin = registers.find(name + "__flotilla_twin1");
    if (twin == registers.end()) { continue; }
    EXPECT_LE(twin->second, count + 12) << name;
    std::string const key = "registers_of_" + name;
    RecordProperty(key, std::to_string(count) + " -> " + std::to_string(twin->second));
    // The code of an ordered twin keeps nothing more, but nvcc may place other code differently.
    auto const ordered = registers.find(name + "__flotilla_twin1_ordered");
    ASSERT_NE(ordered, registers.end()) << name;
    EXPECT_LE(ordered->second, count + 16) << name;
  }
}

// The CPU driver finds the variable, so that it makes no twin either.
TEST(CpuImage, HasTheVariableThatForbidsATwin) {
  auto const loaded = cpu_driver::loaded_image::load(test_make_twins_kernels.cpu,
                                                     test_make_twins_kernels.cpu_bytes);
  ASSERT_TRUE(loaded) << cpu_driver::loaded_image::load_error();
  std::set<std::string> names;
  for (cpu::global_record const& g : loaded->globals()) { names.insert(g.name); }
  EXPECT_THAT(names, UnorderedElementsAre("factors", "launches_seen", "flotilla_no_twin_unwanted"));
}

}  // namespace
}  // namespace flotilla::make_twins
