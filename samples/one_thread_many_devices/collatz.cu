// Counts the steps of "halve, or triple and add one" that each number takes to reach 1. The work
// per number varies, uses integers only, and is easy to check.
extern "C" __global__ void collatz_steps(unsigned first, unsigned count, unsigned* steps) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  unsigned long long value = first + i;
  unsigned taken = 0;
  while (value > 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++taken;
  }
  steps[i] = taken;
}
