// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes x*x + y*y again, without buffers, copies and `after`.
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
  flotilla::program const program = rt.load(tutorial_kernels);
  auto const square = program.kernel(tutorial_kernels.square);
  auto const add = program.kernel(tutorial_kernels.add);

  // Logical data. Their first valid copy is the memory of the program, or none.
  flotilla::flow flow{rt};
  flotilla::data<int> data_x{flow, x, "x"}, data_y{flow, y, "y"}, sum{flow, sums, "sum"};
  flotilla::data<int> squares_x{flow, {n}, "squares of x"}, squares_y{flow, {n}, "squares of y"};

  // Each task says how it uses its data. The flow infers the order, chooses the devices, allocates
  // the memory and copies the data to where they are needed. The two squares may run at the same
  // time, also on two devices.
  flow.post(square.over(n)(read(data_x), write(squares_x), n));
  flow.post(square.over(n)(read(data_y), write(squares_y), n));
  flow.post(add.over(n)(read(squares_x), read(squares_y), write(sum), n));

  // A host task uses the copy on the host, which the flow makes valid before.
  int largest = 0;
  flow.post(uses(read(sum)), flotilla::host_task([&](flotilla::view<int const> all) {
              largest = all(all.size() - 1);
            }));

  // Waits, and copies the data to `sums` if they are not there.
  flotilla::view<int const> const result = sum.host();
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) { wrong += result(i) != x[i] * x[i] + y[i] * y[i]; }
  rt.wait_idle();  // for the host task

  std::printf("%d sums, %d of them wrong; the largest is %d\n", n, wrong, largest);
  return wrong == 0 && largest == 999 * 999 + 1000 * 1000 ? 0 : 1;
}
