#pragma once
// Recorded tasks of one device as a graph, instantiated.

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/transfer.hpp>

#include "context/floating_context.hpp"
#include "dispatch/change_list.hpp"
#include "dispatch/end_node.hpp"
#include "dispatch/kernel_table.hpp"
#include "dispatch/lane.hpp"
#include "dispatch/own_kernels.hpp"
#include "dispatch/recorded_updates.hpp"
#include "dispatch/recording_plan.hpp"

namespace flotilla::dispatch {

/// Its nodes are given other contents between replays, by the device itself (recorded_updates) where it was made so, else by
/// the driver: that takes the host 100 to 300 ns a node instead of 20. The device cannot change a node's kernel, block and
/// shared memory; nor what is no kernel, which the driver does in either case.
///
/// Only the holder of the device's lease, with the context current.
class recorded_graph {
 public:
  struct making {
    planned_part const& plan;
    change_list const& holds;  // an action for each node, in their order
    kernel_table const& table;
    CUdeviceptr counter;       // any of the device's: each launch names its own
    own_functions own;
    mapped_slabs* records;     // null: the driver rewrites it
    completion_page const& page;
    std::function<std::string(std::optional<std::uint32_t> node)> name;  // of a node, or of all, for an error
  };
  /// @throws driver_error  naming the node, where the driver says which it was.
  recorded_graph(context::floating_context const& context, making const& from);
  /// Calls nothing: what was not destroyed is the context's, and went with it.
  ~recorded_graph() = default;
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  void destroy() noexcept;

  /// Whether the device updates its nodes.
  [[nodiscard]] bool updated() const noexcept { return updates_ != nullptr; }
  /// Whether it can have its node hold that, in whatever way.
  [[nodiscard]] bool can_become(change_list::change const& wanted) const noexcept;

  struct outcome { CUresult status; char const* call; };
  /// Before what the next replay changes is put: at most so many nodes.
  void begin(std::size_t changes) noexcept;
  /// The node holds this from the next replay on. One that is under way keeps what it had.
  [[nodiscard]] outcome put(change_list::change const& what, std::byte const* arguments);
  /// Behind its nodes `number`, the lane's next, is written. Where that fails nothing that was put counts as put.
  [[nodiscard]] CUresult enqueue(lane const& on, std::uint64_t number) noexcept;
  /// Has it on the device before it is launched. One that is updated has to be; another need not, and its launch does it.
  [[nodiscard]] CUresult upload(CUstream stream) noexcept;

 private:
  void build(making const& from);
  /// Adds a node, or where the graph is instantiated rewrites it. `ahead` counts only where it is added.
  [[nodiscard]] outcome write(change_list::change const& what, std::byte const* arguments, std::span<CUgraphNode const> ahead);
  [[nodiscard]] outcome write_transfer(std::uint32_t node, transfer const& what, std::span<CUgraphNode const> ahead);
  [[nodiscard]] bool suits(change_list::change const& what) const noexcept;

  context::floating_context const& context_;
  kernel_table const& table_;
  unsigned device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  end_node end_;
  std::unique_ptr<recorded_updates> updates_;  // null: the driver rewrites them
  std::vector<change_list::change> made_as_;   // of one that is updated: each node
  std::vector<void*> pointers_;                // scratch
};

}  // namespace flotilla::dispatch
