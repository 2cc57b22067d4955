// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void overrun(float* values, int count) {
  int const i = static_cast<int>(threadIdx.x);
  if (i <= count) { values[i] = 1.0f; }  // the mistake: `<=` instead of `<`
}
