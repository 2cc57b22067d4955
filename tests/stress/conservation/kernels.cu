// A task that shows that it ran, once, and after those it was put behind.

struct cells_ahead {
  unsigned const* cell[4];  // null: none, or one that this device cannot read
};

extern "C" __global__ void run_once(unsigned* mine, cells_ahead const ahead, unsigned* violations) {
  for (int i = 0; i < 4; ++i) {
    if (ahead.cell[i] != nullptr && *ahead.cell[i] != 1) { atomicAdd(violations, 1u); }
  }
  atomicAdd(mine, 1u);
}
