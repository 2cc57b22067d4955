// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: mangled.cu:6: error: kernel scale is not extern "C"
extern "C" __global__ void fine() {}
__global__ void scale(float* data) { *data *= 2; }
