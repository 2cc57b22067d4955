// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

namespace app {
struct step {
  float length;
};
extern "C" __global__ void move(float* where, step by) { *where += by.length; }
}  // namespace app
