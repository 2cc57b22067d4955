// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: cooperative_groups.cu:5: error: cooperative groups \(cooperative_groups\)
namespace cooperative_groups { struct thread_block; }
extern "C" __global__ void kernel(cooperative_groups::thread_block*) {}
