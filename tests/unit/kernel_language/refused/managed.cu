// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: managed.cu:5: error: managed variables \(__managed__\)
__managed__ int everywhere;
extern "C" __global__ void kernel() { everywhere = 1; }
