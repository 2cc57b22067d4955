#pragma once
// The recorded tasks of one device as an instantiated graph.

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

/// Nodes can change between replays. In a device-updated graph the device changes them itself
/// (recorded_updates), which takes the host 20 ns a node. In other graphs the driver rewrites them,
/// for 100 to 300 ns a node. The device cannot change a node's kernel, block or shared memory. It
/// cannot change copies and fills either; the driver rewrites those in every graph.
///
/// Only the holder of the device's lease, with the context current.
class recorded_graph {
 public:
  struct build_args {
    planned_part const& plan;
    change_list const& contents;  // one action for each node, in their order
    kernel_table const& kernels;
    CUdeviceptr counter;  // of any lane of the device: each launch sets its own
    builtin_functions builtins;
    registered_slabs* records;  // null: the driver rewrites it
    completion_page const& page;
    // Describes a node, or the whole graph, for an error.
    std::function<std::string(std::optional<std::uint32_t> node)> describe;
  };
  /// @throws driver_error  naming the node, if the driver says which one it refuses.
  recorded_graph(context::context_handle const& context, build_args const& args);
  /// Calls nothing: objects that were not destroyed belonged to the context and went with it.
  ~recorded_graph() = default;
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  void destroy() noexcept;

  [[nodiscard]] bool is_device_updated() const noexcept { return updates_ != nullptr; }
  /// Whether the change can be made, by the device or by the driver.
  [[nodiscard]] bool can_become(change_list::node_update const& wanted) const noexcept;

  /// Begins the changes of the next replay. Call it before `put`. @param max_changes  The most
  /// nodes that change.
  void begin(std::size_t max_changes) noexcept;
  /// Changes the node from the next replay on. A replay in flight keeps its nodes.
  [[nodiscard]] driver::call_outcome put(change_list::node_update const& change,
                                         std::byte const* arguments);
  /// Puts the graph into the lane's stream. After its nodes it writes `number`, the lane's next
  /// one. If this fails, put all changes again for the next replay.
  [[nodiscard]] CUresult enqueue(lane const& lane, std::uint64_t number) noexcept;
  /// Copies the graph to the device before its first launch. A device-updated graph needs that.
  [[nodiscard]] CUresult upload(CUstream stream) noexcept;

 private:
  void build(build_args const& args);
  /// Adds a node, or rewrites it if the graph is instantiated. @param ahead  For an added node: its
  /// predecessors.
  [[nodiscard]] driver::call_outcome write(change_list::node_update const& change,
                                           std::byte const* arguments,
                                           std::span<CUgraphNode const> ahead);
  [[nodiscard]] driver::call_outcome write_memory_op(std::uint32_t node,
                                                     detail::memory_command const& what,
                                                     std::span<CUgraphNode const> ahead);
  /// Whether the device can update such a node.
  [[nodiscard]] bool is_suitable(change_list::node_update const& change) const noexcept;

  context::context_handle const& context_;
  kernel_table const& kernels_;
  unsigned const device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  completion_node completion_;
  std::unique_ptr<recorded_updates> updates_;              // null: the driver rewrites the graph
  std::vector<change_list::node_update> instantiated_as_;  // each node of a device-updated graph
  kernel_node node_;
};

}  // namespace flotilla::dispatch
