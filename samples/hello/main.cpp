// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes y = 2 x + y on every device of this machine, and checks each answer.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "hello_kernels.hpp"  // made from saxpy.cu by flotilla_add_kernels()

int main() {
  constexpr int n = 1 << 20;
  std::vector<float> const ones(n, 1.0f);
  bool all_right = true;

  flotilla::runtime rt;  // all GPUs, or CPU devices if there is no GPU
  auto const saxpy = rt.load(hello_kernels).kernel(hello_kernels.saxpy);

  for (flotilla::device const& device : rt.devices()) {
    flotilla::device_buffer<float> x{rt, device, ones};
    flotilla::device_buffer<float> y{rt, device, ones};
    std::vector<float> result(n);

    flotilla::ticket const done = rt.submit(saxpy.over(n)(2.0f, x, y, n));
    flotilla::ticket const back = rt.submit(y.copy_to(result), {.after = {done}});
    back.wait();  // throws the error if the task failed

    auto const right = std::count(result.begin(), result.end(), 3.0f);
    all_right = all_right && right == n;
    std::printf("device %u, %s: %td of %d right\n", device.ordinal.value, device.name.c_str(),
                right, n);
  }
  return all_right ? 0 : 1;
}
