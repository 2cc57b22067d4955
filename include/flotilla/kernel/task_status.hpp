// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The status of a task, through which a kernel reports a failure. Kernels and host code use the
/// same type.

namespace flotilla {
inline namespace v0_1 {

/// A kernel parameter that names the status of the running task. A kernel with such a parameter may
/// call `flotilla::fail` (see kernel_language/fail.hpp). Host code passes a default-constructed
/// object as the argument, and the runtime replaces it:
///
///   extern "C" __global__ void solve(float* x, flotilla::task_status status);  // the kernel
///
///   auto const solve = program.kernel<float*, flotilla::task_status>("solve");
///   rt.submit(solve.over(n)(x, flotilla::task_status{}));
///
/// A kernel may have at most one such parameter, at any position. A recording cannot contain the
/// kernel.
///
/// Cost: the task shares no batch with other tasks, and tasks with this task in `after` are
/// launched only after it has ended, because they must not run if it fails.
struct task_status {
  unsigned long long* word = nullptr;  // only for flotilla; null on the host
};

}  // namespace v0_1
}  // namespace flotilla
