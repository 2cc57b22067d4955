// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: nothing.cu: error: no kernel
__device__ int f() { return 1; }
