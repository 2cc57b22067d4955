// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recorded tasks of one device as an instantiated CUDA graph.

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/detail/memory_command.hpp>

#include "context/context_handle.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/completion_node.hpp"
#include "dispatch/graph/kernel_node.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/recording/change_list.hpp"
#include "dispatch/recording/recorded_updates.hpp"
#include "dispatch/recording/recording_plan.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// A graph whose nodes can change between replays. In a device-updated graph, the device changes
/// kernel nodes itself (recorded_updates), which costs the host 20 ns a node. The device cannot
/// change a kernel node's kernel, block size or shared memory size. All other nodes are changed by
/// the driver, which costs the host 100 to 300 ns a node.
///
/// Threads: only the holder of the device's lease, with the context current.
class recorded_graph {
 public:
  struct build_args {
    planned_part const& plan;
    change_list const& contents;  // one action for each node, in the order of the nodes
    kernel_table const& kernels;
    // The counter of any lane of the device. Each launch replaces it with the counter of the lane
    // that it uses.
    CUdeviceptr counter;
    builtin_functions builtins;
    registered_slabs* records;  // null: the driver rewrites the graph
    completion_page const& page;
    // Returns a description of a node for an error text. If `node` is empty, describes the whole
    // graph.
    std::function<std::string(std::optional<std::uint32_t> node)> describe;
  };
  /// @throws driver_error  The error names the refused node if the driver tells which node it
  /// refused.
  recorded_graph(context::context_handle const& context, build_args const& args);
  /// Makes no driver call. If `destroy` was not called, the driver's objects end with their
  /// context.
  ~recorded_graph() = default;
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  void destroy() noexcept;

  [[nodiscard]] bool is_device_updated() const noexcept { return updates_ != nullptr; }
  /// Returns whether the device or the driver can make the change in this graph.
  [[nodiscard]] bool can_become(change_list::node_update const& wanted) const noexcept;

  /// Begins the changes of the next replay. Call it before the first `put`.
  /// @param max_changes  The maximum number of nodes that change.
  void begin(std::size_t max_changes) noexcept;
  /// Changes a node from the next replay on. A replay in flight keeps its nodes.
  [[nodiscard]] driver::call_outcome put(change_list::node_update const& change,
                                         std::byte const* arguments);
  /// Launches the graph into the lane's stream. At its end the graph writes `number`, the lane's
  /// next number. If the call fails, the caller must `put` all changes again for the next replay.
  [[nodiscard]] CUresult enqueue(lane const& lane, std::uint64_t number) noexcept;
  /// Copies the graph to the device. A device-updated graph needs this before its first launch.
  [[nodiscard]] CUresult upload(CUstream stream) noexcept;

 private:
  void build(build_args const& args);
  /// Adds a node. If the graph is already instantiated, rewrites the node instead.
  /// @param ahead  The predecessors of an added node.
  [[nodiscard]] driver::call_outcome write(change_list::node_update const& change,
                                           std::byte const* arguments,
                                           std::span<CUgraphNode const> ahead);
  [[nodiscard]] driver::call_outcome write_memory_op(std::uint32_t node,
                                                     detail::memory_command const& what,
                                                     std::span<CUgraphNode const> ahead);
  /// Returns whether the device can update a node that has this action.
  [[nodiscard]] bool is_suitable(change_list::node_update const& change) const noexcept;

  context::context_handle const& context_;
  kernel_table const& kernels_;
  unsigned const device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  completion_node completion_;
  std::unique_ptr<recorded_updates> updates_;  // null: the driver rewrites the graph
  // The contents of each node at the instantiation; empty if the driver rewrites the graph.
  std::vector<change_list::node_update> instantiated_as_;
  kernel_node node_;
};

}  // namespace flotilla::dispatch
