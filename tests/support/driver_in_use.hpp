#pragma once
// The driver of the devices under test, called directly: it shows what an application sees that
// uses flotilla and the driver in one process.

#include <cstddef>

#include "driver/table.hpp"

namespace flotilla::test {

[[nodiscard]] driver::table const& driver_in_use();

/// The context that is current on the calling thread, or null.
[[nodiscard]] CUcontext current_context();

/// Depth of the calling thread's context stack. A GPU's driver cannot tell it: then 1 if a context
/// is current, else 0.
[[nodiscard]] std::size_t stack_depth();

/// Live handles of the CPU driver: contexts, streams, events, libraries, allocations. 0 on GPUs.
[[nodiscard]] std::size_t live_handles();

}  // namespace flotilla::test
