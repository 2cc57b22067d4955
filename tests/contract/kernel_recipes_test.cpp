// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/kernels.md.

#include <type_traits>
#include <utility>

#include <app_kernels.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class KernelRecipes : public contract_test {
 protected:
  static constexpr int n = 1000;
};
FLOTILLA_CONTRACT(KernelRecipes);

// requirement: handles have the types of the source, even if a header of the user defines them
TEST_P(KernelRecipes, Handles) {
  device_ordinal const device = last();
  device_buffer<float> x{rt(), device, std::vector<float>(n, 2.0f)}, y{rt(), device, n};
  // recipe
  flotilla::program const program = rt().load(app_kernels);
  auto const evaluate = program.kernel(app_kernels.evaluate);
  ticket const done = rt().submit(evaluate.over(n)(line{3.0f, 1.0f}, x, y, n));
  // end of the recipe
  static_assert(
      std::is_same_v<decltype(evaluate), flotilla::kernel<line, float const*, float*, int> const>);
  static_assert(
      std::is_same_v<decltype(app_kernels.without_handle), flotilla::kernel_without_handle const>);
  EXPECT_EQ(program.kernel("without_handle").parameters().size(), 1u);
  std::vector<float> result(n);
  rt().submit(y.copy_to(result), {.after = {done}}).wait();
  EXPECT_EQ(result, std::vector<float>(n, 7.0f));
}

// requirement
TEST_P(KernelRecipes, LaunchesAtRunTime) {
  device_ordinal const device = last();
  device_buffer<float> x{rt(), device, std::vector<float>(n, 2.0f)}, y{rt(), device, n};
  flotilla::program const program = rt().load(app_kernels);
  line const f{0.5f, 4.0f};
  // recipe
  flotilla::untyped_kernel const evaluate = program.kernel("evaluate");
  flotilla::untyped_launch next = evaluate.over(n).arguments();
  next.append(&f, sizeof f).append(x).append(y).append(&n, sizeof n);
  ticket const done = rt().submit(std::move(next).finish());
  // end of the recipe
  std::vector<float> result(n);
  rt().submit(y.copy_to(result), {.after = {done}}).wait();
  EXPECT_EQ(result, std::vector<float>(n, 5.0f));
}

// requirement: the attributes of the page compile, and CPU devices say what they cannot do
TEST_P(KernelRecipes, Attributes) {
  if (on_gpus()) { GTEST_SKIP() << "needs CPU devices"; }
  auto const k = program().nothing;
  auto const first = program().nothing;
  auto const second = program().nothing;
  extent const grid{64}, block{256};
  unsigned const bytes = 100 * 1024;
  // recipe
  ticket const tiled = rt().submit(k.with_shape(grid, block).shared(bytes)());
  // end of the recipe
  tiled.wait();
  EXPECT_THROW(
      {
        // recipe
        ticket const in_clusters = rt().submit(k.with_shape(grid, block).cluster({8})());
        // end of the recipe
      },
      invalid_argument);
  EXPECT_THROW(
      {
        // recipe
        ticket const together = rt().submit(k.with_shape(grid, block).cooperative()());
        // end of the recipe
      },
      invalid_argument);
  // recipe
  ticket const ahead = rt().submit(first.with_shape(grid, block)());
  ticket const early =
      rt().submit(second.with_shape(grid, block).programmatic()(), {.after = {ahead}});
  // end of the recipe
  early.wait();
}

}  // namespace
}  // namespace flotilla::test
