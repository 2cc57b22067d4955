// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operation on one cell, for kernels and for the check on the host.

#include <math.h>

#if defined(__CUDACC__)
#define HEAT_HOST_DEVICE __host__ __device__
#else
#define HEAT_HOST_DEVICE
#endif

namespace heat {

/// Returns the temperature of a cell after one step: here + alpha * (north + south + west + east -
/// 4 * here).
///
/// The result has the same bits on all devices and on the host. Compilers may contract a product
/// and a sum to one operation with one rounding, and they do not agree on where. So each product is
/// written as `fmaf`, which leaves no choice.
HEAT_HOST_DEVICE inline float relax(float here, float north, float south, float west, float east,
                                    float alpha) {
  float const around = (north + south) + (west + east);
  return fmaf(alpha, fmaf(-4.0f, here, around), here);
}

}  // namespace heat
