// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The calling thread's stack of contexts. The stack holds handles, not objects. If a context on the
// stack is destroyed by another thread, its handle stays on the stack but no longer names an
// object.

#include <cuda.h>

#include <cstddef>

namespace flotilla::cpu_driver::context_stack {

/// Returns the current context, or null if there is none.
[[nodiscard]] CUcontext top() noexcept;
/// Makes a context current. Throws std::bad_alloc.
void push(CUcontext added);
/// Removes and returns the current context. Returns null if the stack is empty.
CUcontext pop() noexcept;
/// Returns the number of contexts on the calling thread's stack.
[[nodiscard]] std::size_t depth() noexcept;

}  // namespace flotilla::cpu_driver::context_stack
