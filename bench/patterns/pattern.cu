// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "pattern_argument.hpp"

/// A task of a pattern: values[task] = 1 + the sum of the values of the predecessors. One block of
/// 32 threads. The kernel reads the values when it begins and writes its own value when it ends, so
/// a task that begins before one of its predecessors has ended has a wrong value.
extern "C" __global__ void pattern_task(flotilla::bench::pattern_argument const task) {
  unsigned long long const start = flotilla_globaltimer();
  unsigned long long sum = 0;
  if (task.predecessors <= flotilla::bench::pattern_argument::max_listed) {
    if (threadIdx.x != 0) { return; }
    // A constant number of iterations lets the compiler issue all loads before the first addition.
    for (unsigned i = 0; i < flotilla::bench::pattern_argument::max_listed; ++i) {
      if (i < task.predecessors) { sum += task.values[task.listed[i]]; }
    }
  } else {
    for (unsigned i = threadIdx.x; i < task.predecessors; i += 32) {
      sum += task.values[task.listed[0] + i];
    }
    for (unsigned step = 16; step != 0; step /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    if (threadIdx.x != 0) { return; }
  }
  while (flotilla_globaltimer() - start < task.nanoseconds) {}
  task.values[task.task] = 1 + sum;
}
