// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies and fills as nodes of a recorded graph.

#include <cuda.h>

#include <span>

#include <flotilla/detail/memory_command.hpp>

#include "context/context_handle.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// Adds a node to `graph`, behind the nodes `ahead`. The context must be current.
[[nodiscard]] driver::call_outcome add_memory_node(context::context_handle const& context,
                                                   CUgraph graph, CUgraphNode& made,
                                                   std::span<CUgraphNode const> ahead,
                                                   detail::memory_command const& what);

/// Changes a node from the next launch of `exec` on. The node must have the same kind of command.
/// The context must be current.
[[nodiscard]] driver::call_outcome rewrite_memory_node(context::context_handle const& context,
                                                       CUgraphExec exec, CUgraphNode node,
                                                       detail::memory_command const& what);

}  // namespace flotilla::dispatch
