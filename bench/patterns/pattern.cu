// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "pattern_argument.hpp"

/// Reads the values of the predecessors, then waits until the task has run for its length.
/// @return Whether this thread must write `value`, which is 1 + the sum of these values.
__device__ __forceinline__ bool run_pattern_task(flotilla::bench::pattern_argument const& task,
                                                 unsigned long long& value) {
  unsigned long long const start = flotilla_globaltimer();
  unsigned long long sum = 0;
  if (task.predecessors <= flotilla::bench::pattern_argument::max_listed) {
    if (threadIdx.x != 0) { return false; }
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
    if (threadIdx.x != 0) { return false; }
  }
  while (flotilla_globaltimer() - start < task.nanoseconds) {}
  value = 1 + sum;
  return true;
}

/// A task of a pattern: values[task] = 1 + the sum of the values of the predecessors. One block of
/// 32 threads. The kernel reads the values when it begins and writes its own value when it ends, so
/// a task that begins before one of its predecessors has ended has a wrong value.
extern "C" __global__ void pattern_task(flotilla::bench::pattern_argument const task) {
  unsigned long long value = 0;
  if (run_pattern_task(task, value)) { task.values[task.task] = value; }
}

/// The same on one of two devices: `task.values` is memory of this device. If a task on the other
/// device needs the value, `mirror` is memory of the other device, and the kernel writes the value
/// there too. Otherwise `mirror` is null.
extern "C" __global__ void pattern_task_on_two(flotilla::bench::pattern_argument const task,
                                               unsigned long long* mirror) {
  unsigned long long value = 0;
  if (!run_pattern_task(task, value)) { return; }
  task.values[task.task] = value;
  if (mirror != nullptr) { mirror[task.task] = value; }
}
