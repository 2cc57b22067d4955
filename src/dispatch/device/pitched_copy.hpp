// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of arrays whose rows are not adjacent.

#include <cuda.h>

#include <flotilla/detail/memory_command.hpp>

#include "driver/call_outcome.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

/// The contexts of both ends; `from` is null if the driver needs none of them.
struct copy_contexts {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
};

/// Enqueues a pitched copy with one driver call for each plane, or for each row of a plane if there
/// are fewer of them. If the driver cannot step from row to row, because they are too far apart,
/// each row needs a call. Host memory must be pinned.
/// @param between  Only for a copy between two devices of which at least one is isolated.
[[nodiscard]] driver::call_outcome enqueue_pitched_copy(detail::memory_command const& what,
                                                        driver::table const& api, CUstream stream,
                                                        copy_contexts between = {});

}  // namespace flotilla::dispatch
