#pragma once
// Reserves the device memory that executable graphs need.

#include <cuda.h>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// When the driver instantiates a graph, it takes about 128 KiB of device memory for each parallel
/// chain, whatever the chain's length. It keeps the memory of destroyed graphs for new ones. If
/// this memory does not suffice, the driver allocates more, and the allocation waits until the
/// device is idle. In one measurement a thread that created a template while long kernels ran was
/// blocked for 0.3 s and launched nothing (docs/results/h200-graph-memory.txt). So the runtime
/// makes the driver allocate memory for `reserved_chains` chains at the start: about 60 MiB, in 20
/// ms.
inline constexpr unsigned reserved_chains = 512;

/// Makes the driver allocate the memory. Call it with the context current and the device idle.
/// Errors are ignored, because the creation of a template would report them again.
/// @param any     A kernel with the parameters (pointer, number). It does not run.
/// @param stream  A stream without other work; the call waits for it.
void reserve_graph_memory(context::context_handle const& context, CUfunction any,
                          CUstream stream) noexcept;

}  // namespace flotilla::dispatch
