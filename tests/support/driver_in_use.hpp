// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Direct calls of the driver that serves the devices under test. With these calls, a test acts like
// an application that uses both flotilla and the driver.

#include <cstddef>

#include "driver/table.hpp"

namespace flotilla::test {

[[nodiscard]] driver::table const& driver_in_use();

/// The context that is current on the calling thread, or null.
[[nodiscard]] CUcontext current_context();

/// Returns the depth of the calling thread's context stack. A GPU driver has no call that returns
/// the depth. On GPUs the result is 1 if a context is current, else 0.
[[nodiscard]] std::size_t stack_depth();

/// Number of live handles of the CPU driver: contexts, streams, events, allocations, modules,
/// libraries. 0 on GPUs.
[[nodiscard]] std::size_t live_handles();

}  // namespace flotilla::test
