// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: atomic_type.cu:6:[0-9]+: error: .*atomicAdd
// CUDA has no atomicAdd of long long.
extern "C" __global__ void kernel(long long* p) { atomicAdd(p, 1ll); }
