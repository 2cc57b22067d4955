#pragma once
// The contexts that are current on the calling thread. The stack holds handles, not objects: a
// destroyed context stays on the stacks of other threads as a handle that names nothing.

#include <cuda.h>

#include <cstddef>

namespace flotilla::cpu_driver::context_stack {

/// The current context; null if there is none.
[[nodiscard]] CUcontext top() noexcept;
/// Throws std::bad_alloc.
void push(CUcontext added);
/// Removes the top and returns it; null if the stack is empty.
CUcontext pop() noexcept;
/// The number of contexts on the calling thread's stack.
[[nodiscard]] std::size_t depth() noexcept;

}  // namespace flotilla::cpu_driver::context_stack
