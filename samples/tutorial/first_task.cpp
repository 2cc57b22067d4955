// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Squares the numbers from 0 to 999 on a device.
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"  // made from kernels.cu by flotilla_add_kernels()

int main() {
  constexpr int n = 1000;
  std::vector<int> numbers(n), squares(n);
  std::iota(numbers.begin(), numbers.end(), 0);

  // 1. A runtime: a context on each device, and threads that drive the devices.
  flotilla::runtime rt;
  flotilla::device const& device = rt.devices()[0];

  // 2. A kernel. Its parameter types are those of the source.
  flotilla::program const program = rt.load(tutorial_kernels);
  auto const square = program.kernel(tutorial_kernels.square);

  // 3. Memory of the device. The first buffer gets a copy of the numbers.
  flotilla::device_buffer<int> in{rt, device, numbers};
  flotilla::device_buffer<int> out{rt, device, n};

  // 4. A task: one thread for each of the n numbers.
  flotilla::ticket const squared = rt.submit(square.over(n)(in, out, n));

  // 5. Another task, which runs after the first one.
  flotilla::ticket const copied = rt.submit(out.copy_to(squares), {.after = {squared}});

  // 6. The result is in `squares` when this call returns.
  copied.wait();

  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) { wrong += squares[i] != numbers[i] * numbers[i]; }
  std::printf("%d squares, %d of them wrong\n", n, wrong);
  return wrong == 0 ? 0 : 1;
}
