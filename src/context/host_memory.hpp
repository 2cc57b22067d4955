// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pinned memory that only one device uses.

#include <cuda.h>

#include <cstddef>

#include "context/context_handle.hpp"

namespace flotilla::context {

/// Calls cuMemHostAlloc. The memory prefers the NUMA node of the device, if it has one
/// (context_handle::host_node). Call it with the context current.
[[nodiscard]] CUresult allocate_pinned(context_handle const& context, void*& memory,
                                       std::size_t bytes, unsigned flags) noexcept;

}  // namespace flotilla::context
