// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a kernel reports that its task has failed.

#include <flotilla/kernel/task_status.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Makes the task fail with `code` when the kernel ends. The ticket of the task throws task_failed
/// with this code, and tasks with this task in `after` fail with dependency_failed. Nothing else is
/// affected: the kernel continues to run, its results remain in memory, and the device stays
/// usable. If several threads call this function, the task fails with the code of one of them.
/// Cost: one store to host memory.
__device__ inline void fail(task_status status, int code) {
  // The high half says that the task has failed, so that any code is possible, even 0.
  unsigned long long const failed = 1ull << 32 | static_cast<unsigned>(code);
#if defined(__CUDACC__)
  *reinterpret_cast<unsigned long long volatile*>(status.word) = failed;
#else
  __atomic_store_n(status.word, failed, __ATOMIC_RELAXED);
#endif
}

}  // namespace v0_1
}  // namespace flotilla
