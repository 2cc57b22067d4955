// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: assembly.cu:7: error: inline assembly \(asm\)
extern "C" __global__ void kernel(unsigned* out) {
  *out = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(*out));
}
