// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: gpus_only.cu:8: error: no kernel is left for CPU devices.*at least one kernel must be compiled for CPU[ \n]+devices
// regression: the message was "no kernel", with the advice to do what this file does

#ifdef __CUDACC__
extern "C" __global__ void only_for_gpus(float* values) { values[threadIdx.x] *= 2; }
#endif
