// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of copies and fills in graphs, in a worker that makes the nodes again.

#include <cstddef>
#include <span>

#include "isolation/owner/replica.hpp"

namespace flotilla::isolated {

/// Changes a request that adds a copy or a fill to a graph, if the memory of the node was freed: a
/// driver would refuse the node. But executables of the graph may use other memory by now, which
/// they get from later requests, or may never run again. So the node gets memory that stays, of the
/// same kind. Does nothing for other requests. Call it with the lock of the device.
void replace_freed_memory(std::span<std::byte> request, replicated const& from);

}  // namespace flotilla::isolated
