// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: unknown_function.cu:6:[0-9]+: error: .*__nv_atomic_frobnicate
// CUDA might have this function, but flotilla has not. The compiler's error must name it.
extern "C" __global__ void kernel(int* p) { __nv_atomic_frobnicate(p); }
