// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes x*x + y*y. The two squares have no order; the sum comes after both.
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"

int main() {
  constexpr int n = 1000;
  std::vector<int> x(n), y(n), sums(n);
  std::iota(x.begin(), x.end(), 0);
  std::iota(y.begin(), y.end(), 1);

  flotilla::runtime rt;
  flotilla::device const& first = rt.devices().front();
  flotilla::device const& last = rt.devices().back();
  flotilla::program const program = rt.load(tutorial_kernels);
  auto const square = program.kernel(tutorial_kernels.square);
  auto const add = program.kernel(tutorial_kernels.add);

  // The squares of x on one device, those of y on another one if there is one. A launch runs on
  // the device of its first buffer.
  flotilla::device_buffer<int> in_x{rt, first, x}, squares_x{rt, first, n};
  flotilla::device_buffer<int> in_y{rt, last, y}, squares_y{rt, last, n};
  flotilla::ticket const done_x = rt.submit(square.over(n)(in_x, squares_x, n), {.label = "x*x"});
  flotilla::ticket const done_y = rt.submit(square.over(n)(in_y, squares_y, n), {.label = "y*y"});

  // `after` takes tickets of any device. No thread waits for them: the devices do.
  flotilla::device_buffer<int> moved{rt, first, n}, sum{rt, first, n};
  flotilla::ticket const here =
      rt.submit(moved.copy_from(squares_y), {.label = "move", .after = {done_y}});
  flotilla::ticket const added =
      rt.submit(add.over(n)(squares_x, moved, sum, n), {.label = "sum", .after = {done_x, here}});

  rt.submit(sum.copy_to(sums), {.label = "result", .after = {added}}).wait();

  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) { wrong += sums[i] != x[i] * x[i] + y[i] * y[i]; }
  std::printf("%d sums, %d of them wrong\n", n, wrong);
  return wrong == 0 ? 0 : 1;
}
