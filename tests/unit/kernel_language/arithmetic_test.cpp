// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Intrinsics: kernels check the results, and report the lines of arithmetic.cu whose check has
// failed.
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

class Arithmetic : public testing::TestWithParam<char const*> {};

TEST_P(Arithmetic, HoldsLineByLine) {
  kernel_runner runner;
  int count = 0;
  std::vector<int> lines(100);
  ASSERT_EQ(runner.run(GetParam(), {}, &count, lines.data()), grid_end::completed);
  lines.resize(static_cast<std::size_t>(count));
  EXPECT_EQ(lines, std::vector<int>{}) << "lines of arithmetic.cu that failed";
}

INSTANTIATE_TEST_SUITE_P(All, Arithmetic,
                         testing::Values("check_bits", "check_floats", "check_vectors"),
                         [](auto const& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace flotilla::cpu_driver
