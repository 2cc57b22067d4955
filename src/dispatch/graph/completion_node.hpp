#pragma once
// A graph node that writes a lane's number to the completion page: the last node of a graph, and
// some before it.

#include <cuda.h>

#include <cstdint>
#include <span>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease, with the context current.
class completion_node {
 public:
  /// Adds it to `graph`, after the nodes `ahead`.
  /// @param kernel  builtin_functions::completion; or null for the driver's memory operation, which
  ///                is visible sooner but delays other work.
  /// @throws driver_error
  void add(context::context_handle const& context, CUgraph graph,
           std::span<CUgraphNode const> ahead, CUdeviceptr counter, CUfunction kernel);
  /// From the next launch of `exec` on the node writes `number` to `counter`. A launch in flight
  /// keeps its number.
  [[nodiscard]] CUresult set(context::context_handle const& context, CUgraphExec exec,
                             CUdeviceptr counter, std::uint64_t number) const noexcept;
  [[nodiscard]] CUgraphNode node() const noexcept { return node_; }

 private:
  CUgraphNode node_ = nullptr;
  CUfunction kernel_ = nullptr;
};

}  // namespace flotilla::dispatch
