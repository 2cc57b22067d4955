// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recorded tasks of one device as an instantiated CUDA graph.

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/completion_node.hpp"
#include "dispatch/graph/kernel_node.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_limits.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/recording/change_list.hpp"
#include "dispatch/recording/graph_exchanges.hpp"
#include "dispatch/recording/node_plan.hpp"
#include "dispatch/recording/recorded_grid.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// A graph whose tasks can change between replays. A task is a node of its own, or part of a grid.
/// A change of a task in a grid is written to the grid's records, which costs the host some 10 ns a
/// task, and one driver call for each grid. A change of any other task costs one driver call, 100
/// to 300 ns. A task in a grid cannot change its kernel, block size or size of shared memory.
///
/// Threads: only the holder of the device's lease, with the context current.
class recorded_graph {
 public:
  struct build_args {
    node_plan& plan;              // is moved from
    change_list const& contents;  // an action for each task
    // The nodes of the plan after the tasks, and the group to which they belong. Must outlive the
    // graph.
    std::span<planned_exchange const> exchanges;
    replay_group const* group;  // null: none
    std::uint32_t part;         // the number of the part in its group
    kernel_table const& kernels;
    grid_limits const& limits;
    unsigned device;
    // The counter of any lane of the device. Each launch replaces it with the counter of the lane
    // that it uses.
    CUdeviceptr counter;
    builtin_functions builtins;
    registered_slabs& memory;  // for the records of grids
    completion_page const& page;
    CUstream memory_stream;  // a stream without tasks
    // Returns a description of a task for an error text. If `task` is empty, describes all tasks.
    std::function<std::string(std::optional<std::uint32_t> task)> describe;
    // If the constructor throws because the driver has refused a grid: the first task of the grid.
    std::optional<std::uint32_t>& refused_grid;
  };
  /// @throws driver_error, std::bad_alloc  The error names the refused task if the driver tells
  /// which node it refused.
  recorded_graph(context::context_handle const& context, build_args const& args);
  /// Makes no driver call. If `destroy` was not called, the driver's objects end with their
  /// context.
  ~recorded_graph() = default;
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  void destroy() noexcept;

  [[nodiscard]] bool has_grids() const noexcept { return !grids_.empty(); }
  /// Returns whether the change is possible in this graph.
  [[nodiscard]] bool can_hold(change_list::change const& wanted) const noexcept;
  /// Returns all tasks of the node that contains `task`.
  [[nodiscard]] std::span<std::uint32_t const> tasks_beside(std::uint32_t task) const noexcept {
    return plan_.tasks[plan_.node_of[task]];
  }
  /// Puts the present contents of all tasks into an empty list. The graph must have grids.
  void copy_contents(change_list& into) const;

  /// Changes a task from the next replay on. A replay in flight keeps its contents. The change must
  /// be one that `can_hold` accepts.
  [[nodiscard]] driver::call_outcome put(change_list::change const& change,
                                         std::byte const* arguments);
  /// Ends the changes of a replay, even if there are none. Call it before each `enqueue`.
  struct closed {
    driver::call_outcome outcome{};
    std::uint32_t refused = 0;  // if the outcome is not ok: a task of the refused grid
    bool too_large = false;     // whether the grid has more blocks than a grid may have
  };
  [[nodiscard]] closed close_changes();
  /// Launches the graph into the lane's stream. At its end the graph writes `number`, the lane's
  /// next number. If the call fails, the caller must `put` all changes again for the next replay.
  /// @param replay  The number of the replay in its group.
  [[nodiscard]] driver::call_outcome enqueue(lane const& lane, std::uint64_t number,
                                             std::uint64_t replay);
  /// After the device was lost, the copy of the records may never have been made.
  void note_loss() noexcept {
    if (copy_ == copy_state::in_flight) { copy_ = copy_state::absent; }
  }
  /// Copies the graph to the device, so that the first launch need not do it.
  [[nodiscard]] CUresult upload(CUstream stream) noexcept;

 private:
  static constexpr std::uint32_t no_grid = 0xffff'ffff;
  enum class copy_state : std::uint8_t { absent, in_flight, made, in_use };

  void build(build_args const& args);
  /// Adds a node before all others, if the graph needs one. @return null if it has none.
  [[nodiscard]] CUgraphNode add_entry(build_args const& args);
  void build_nodes(build_args const& args, CUgraphNode entry);
  [[nodiscard]] bool is_exchange(std::uint32_t task) const noexcept { return task >= tasks_; }
  void instantiate(build_args const& args);
  /// Makes the grids, and writes their records.
  void make_grids(build_args const& args);
  /// Begins to copy the records of all grids to the device. If that fails, the device reads the
  /// records in host memory.
  void copy_to_device(std::size_t bytes) noexcept;
  /// Returns whether the device may still read the first records to copy them.
  [[nodiscard]] bool is_copying() noexcept;
  /// Lets grids that were never changed use the copy on the device, if it is made.
  void use_device_copy() noexcept;
  void write_records(change_list const& contents, std::uint32_t node);
  /// Adds a node behind the nodes `ahead`.
  [[nodiscard]] driver::call_outcome add_single(change_list::change const& change,
                                                std::byte const* arguments, std::uint32_t node,
                                                std::span<CUgraphNode const> ahead);
  [[nodiscard]] driver::call_outcome add_grid(std::uint32_t node,
                                              std::span<CUgraphNode const> ahead);
  [[nodiscard]] driver::call_outcome rewrite_single(change_list::change const& change,
                                                    std::byte const* arguments);
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& node_of(change_list::change const& change,
                                                       std::byte const* arguments);

  context::context_handle const& context_;
  kernel_table const& kernels_;
  grid_limits const& limits_;
  registered_slabs& memory_;
  unsigned const device_;
  node_plan plan_;
  std::uint32_t const tasks_;  // how many
  graph_exchanges exchanges_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;  // by node of the plan
  CUstream const memory_stream_;
  completion_node completion_;
  kernel_node node_;

  std::vector<recorded_grid> grids_;
  std::vector<std::uint32_t> grid_of_;  // by node: index in grids_, or no_grid
  std::vector<std::uint32_t> rank_;     // by task: its index in its node
  registered_slabs::piece records_{};   // the first records of all grids
  CUdeviceptr device_records_ = 0;      // a copy of `records_` on the device; 0: there is none
  copy_state copy_ = copy_state::absent;
  std::vector<std::uint32_t> changed_;  // nodes of the grids that are open
  recorded_grid::launch_mark last_{};   // the last launch
  // The present contents of the tasks that are not in a grid. Empty if there are no grids.
  change_list singles_{0};
};

}  // namespace flotilla::dispatch
