// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The argument of the kernel in pattern.cu. The host and the kernel include this file.

namespace flotilla::bench {

struct pattern_argument {
  static constexpr unsigned max_listed = 8;

  unsigned long long* values;  // device memory: one value for each task
  unsigned task;               // index of the task in `values`
  unsigned nanoseconds;        // running time of the task
  unsigned predecessors;       // number of predecessors
  // The indices of the predecessors. If there are more than `max_listed` predecessors, their
  // indices are consecutive and listed[0] is the first one.
  unsigned listed[max_listed];
};

}  // namespace flotilla::bench
