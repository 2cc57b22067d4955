// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph node that writes a lane's completion number. Every graph ends with such a node. Long
// graphs have several such nodes.

#include <cuda.h>

#include <cstdint>
#include <span>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class completion_node {
 public:
  /// Adds the node to `graph`, after the nodes `ahead`.
  /// @param kernel  builtin_functions::completion. Null: the node is a write-value operation of
  /// the driver. The number then becomes visible sooner, but the operation waits for other work
  /// (see builtin_functions::completion).
  /// @throws driver_error
  void add(context::context_handle const& context, CUgraph graph,
           std::span<CUgraphNode const> ahead, CUdeviceptr counter, CUfunction kernel);
  /// Makes the node write `number` to `counter` from the next launch of `exec` on. A launch in
  /// flight keeps its number.
  [[nodiscard]] CUresult set(context::context_handle const& context, CUgraphExec exec,
                             CUdeviceptr counter, std::uint64_t number) const noexcept;
  [[nodiscard]] CUgraphNode node() const noexcept { return node_; }

 private:
  CUgraphNode node_ = nullptr;
  CUfunction kernel_ = nullptr;
};

}  // namespace flotilla::dispatch
