#pragma once
// The device memory that executable graphs need.

#include <cuda.h>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// The driver gives a graph device memory as it is instantiated, some 128 KiB for each of its chains whatever their length, and
/// keeps what a destroyed one had. Where it has none left it gets more, and that *waits until the device has nothing to do*:
/// a thread that made a template while long kernels ran stood still for 0.3 s, with all that it was to launch
/// (docs/results/h200-graph-memory.txt). So the driver is made to have some before anything runs: for `reserved_chains`,
/// 60 MiB, in 20 ms.
inline constexpr unsigned reserved_chains = 512;

/// With the context current, its device idle. What is wrong here will be heard of when a template is made.
/// @param any  A kernel of ours: `(pointer, number)`. It is not run.
void reserve_graph_memory(context::floating_context const& context, CUfunction any, CUstream stream) noexcept;

}  // namespace flotilla::dispatch
