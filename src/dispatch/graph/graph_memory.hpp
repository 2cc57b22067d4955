// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reserves the device memory that executable graphs need.

#include <cuda.h>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// To instantiate a graph, the driver takes about 128 KiB of device memory for each parallel chain,
/// whatever the chain's length. The driver keeps the memory of destroyed graphs for new graphs. If
/// this memory does not suffice, the driver allocates more, and the allocation waits until the
/// device is idle. In one measurement, a thread created a template while long kernels ran. The
/// thread was blocked for 0.3 s, and could launch nothing during this time
/// (docs/results/h200-graph-memory.txt). So the runtime makes the driver allocate memory for
/// `reserved_chains` chains at the start. This takes about 60 MiB and 20 ms.
inline constexpr unsigned reserved_chains = 512;

/// Makes the driver allocate the memory. Call it with the context current and the device idle.
/// Errors are ignored, because the same error would occur again when a template is created.
/// @param any     A kernel with the parameters (pointer, number). It does not run.
/// @param stream  A stream without other work; the call waits for it.
void reserve_graph_memory(context::context_handle const& context, CUfunction any,
                          CUstream stream) noexcept;

}  // namespace flotilla::dispatch
