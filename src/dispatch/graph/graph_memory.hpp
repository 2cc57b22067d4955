#pragma once
// The device memory that executable graphs need.

#include <cuda.h>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// When the driver instantiates a graph, it takes some 128 KiB of device memory for each parallel
/// chain, whatever its length. It keeps the memory of destroyed graphs. If none is left, it
/// allocates more, and that waits until the device is idle: a thread that made a template while
/// long kernels ran stood still for 0.3 s, with everything that it had to launch
/// (docs/results/h200-graph-memory.txt). So the driver is made to allocate enough for
/// `reserved_chains` before anything runs: 60 MiB, in 20 ms.
inline constexpr unsigned reserved_chains = 512;

/// With the context current and its device idle. Errors are ignored, because they show again when a
/// template is created.
/// @param any  One of flotilla's kernels with the parameters (pointer, number). It does not run.
void reserve_graph_memory(context::context_handle const& context, CUfunction any,
                          CUstream stream) noexcept;

}  // namespace flotilla::dispatch
