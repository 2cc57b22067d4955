#pragma once
// Which contexts are current on the calling thread. Handles, not objects: a context that somebody
// destroys stays on the stacks of other threads as a handle that is found no more.

#include <cuda.h>

#include <cstddef>

namespace flotilla::cpu_driver::context_stack {

/// The current context; null when there is none.
[[nodiscard]] CUcontext top() noexcept;
/// Throws std::bad_alloc.
void push(CUcontext added);
/// Takes the top off and returns it; null when there is none.
CUcontext pop() noexcept;
/// Contexts on the calling thread's stack.
[[nodiscard]] std::size_t depth() noexcept;

}  // namespace flotilla::cpu_driver::context_stack
