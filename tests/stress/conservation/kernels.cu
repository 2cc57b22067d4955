// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernel of the tasks of the conservation test. It counts the runs of its task and checks that
// the task's predecessors have run.

struct predecessor_cells {
  // Null if there is no predecessor or if this device cannot read the predecessor's cell.
  unsigned const* cell[4];
};

extern "C" __global__ void run_once(unsigned* own, predecessor_cells const predecessors,
                                    unsigned* violations) {
  for (int i = 0; i < 4; ++i) {
    if (predecessors.cell[i] != nullptr && *predecessors.cell[i] != 1) {
      atomicAdd(violations, 1u);
    }
  }
  atomicAdd(own, 1u);
}
