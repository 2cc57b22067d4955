// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Runs a kernel that writes beyond the end of its buffer.

#include <flotilla/flotilla.hpp>

#include "overrun_kernels.hpp"

int main() {
  flotilla::runtime rt;
  flotilla::device_buffer<float> values{rt, rt.devices()[0], 32};
  auto const overrun = rt.load(overrun_kernels).kernel<float*, int>("overrun");
  rt.submit(overrun.over(64)(values, 32)).wait();
}
