#pragma once
// A node of a graph of ours that writes a lane's number to the completion page: the graph's last, and marks on the way.

#include <cuda.h>

#include <cstdint>
#include <span>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease, with the context current.
class end_node {
 public:
  /// Adds it to `graph`, behind `behind`.
  /// @param marker  The kernel that writes, see own_kernels; null: a memory operation of the driver's, which is seen
  ///                sooner and keeps others waiting.
  /// @throws driver_error
  void add(context::floating_context const& context, CUgraph graph, std::span<CUgraphNode const> behind,
           CUdeviceptr counter, CUfunction marker);
  /// From the next launch of `exec` on it writes `number` to `counter`. One that is in flight keeps what it had.
  [[nodiscard]] CUresult set(context::floating_context const& context, CUgraphExec exec, CUdeviceptr counter,
                             std::uint64_t number) const noexcept;
  [[nodiscard]] CUgraphNode node() const noexcept { return node_; }

 private:
  CUgraphNode node_ = nullptr;
  CUfunction marker_ = nullptr;
};

}  // namespace flotilla::dispatch
