#pragma once
// The driver that serves the devices of the tests, called beside flotilla: what a guest's host
// would see.

#include <cstddef>

#include "driver/table.hpp"

namespace flotilla::test {

[[nodiscard]] driver::table const& driver_in_use();

/// The context that is current on the calling thread; null: none.
[[nodiscard]] CUcontext current_context();

/// How many contexts lie on the calling thread's stack. On GPUs, which cannot be asked: 1 or 0,
/// whether one is current.
[[nodiscard]] std::size_t stack_depth();

/// Live handles of the CPU driver (contexts, streams, events, libraries, memory); on GPUs 0,
/// always.
[[nodiscard]] std::size_t live_handles();

}  // namespace flotilla::test
