// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes with which a graph tells the other parts of a recording how far it is, and waits for
// them.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/completion_node.hpp"
#include "dispatch/recording/recording_plan.hpp"
#include "dispatch/recording/replay_group.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// On GPUs the nodes are kernels of one warp (builtin_functions::exchange), on CPU devices stream
/// operations. GPUs must not use stream operations: a graph of eight or more chains whose stream
/// waits for a value holds all hardware connections of its GPU, so a graph that would write the
/// value cannot begin. A kernel that waits holds nothing up (docs/dispatch/recording.md).
///
/// Threads: only the holder of the device's lease, with the context current.
class graph_exchanges {
 public:
  static constexpr std::uint32_t max_parts = 32;  // a thread of the kernel waits for a part

  struct config {
    // `planned` and `group` must outlive the object.
    std::span<planned_exchange const> planned;
    replay_group const* group;  // null if there are no exchanges
    std::uint32_t part;         // the number of the part in its group
    CUstream memory_stream;     // a stream without tasks
  };
  graph_exchanges(context::context_handle const& context, config const& with);
  void destroy() noexcept;

  /// Adds the node that all others must follow, if there is one. It tells the kernels which replay
  /// this is. @return null if there is none. @throws driver_error
  [[nodiscard]] CUgraphNode begin(CUgraph graph, builtin_functions const& builtins);
  /// Adds an exchange behind the nodes `ahead`.
  [[nodiscard]] driver::call_outcome add(std::size_t number, CUgraph graph,
                                         std::span<CUgraphNode const> ahead, CUgraphNode& made);
  /// Makes the exchanges use the values of a replay, from the next launch on.
  [[nodiscard]] driver::call_outcome set(CUgraphExec exec, std::uint64_t replay) const;

 private:
  context::context_handle const& context_;
  config const with_;
  std::vector<CUgraphNode> nodes_;
  CUfunction kernel_ = nullptr;  // null: stream operations
  CUdeviceptr base_at_ = 0;      // where the kernels find the base of the replay
  completion_node base_;         // writes it
};

}  // namespace flotilla::dispatch
