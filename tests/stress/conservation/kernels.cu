// The kernel of the tasks of the conservation test. It counts its runs and checks that its
// predecessors have run.

struct predecessor_cells {
  unsigned const* cell[4];  // null if there is no predecessor or this device cannot read its cell
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
