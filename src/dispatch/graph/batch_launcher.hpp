// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts a batch of launches into its lane's stream, as one graph launch or one by one.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/kernel_node.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/graph/template_pool.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Properties of a batch.
struct batch_traits {
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;

  std::uint32_t chains = 1;
  std::uint32_t rows_per_completion = 1;  // number of rows from one completion node to the next
  std::uint32_t kernel = no_kernel;       // the kernel of all tasks; no_kernel if kernels differ
  bool grids = false;  // whether the batch is launched as grids, as far as its tasks allow it
  bool all_in_grids = false;  // whether each task can be part of a grid (grid_policy::takes)
  bool one_form = false;      // whether all tasks can be parts of the same grid
  end_mark device_wait{};  // what the spin kernel waits for; not valid if there is no spin kernel
  bool ordered = false;    // whether some tasks of the batch run after others
  // Whether to launch the tasks one by one, without a graph. Then a programmatic launch can begin
  // before the launch ahead has ended.
  bool one_by_one = false;
  bool long_running = false;  // whether a kernel of the batch is long or was never measured
  // whether no batch on the device is long-running or waits for another device
  bool prompt = false;
};

/// A graph launch that is being prepared. The object is reused for all launches, so that a launch
/// in a steady state allocates nothing.
struct prepared_batch {
  struct refusal {
    slot_address task;
    CUresult status;
  };

  graph_template* carrier = nullptr;  // null: the driver made no template for the first task
  CUresult status = CUDA_SUCCESS;     // the driver's status if `carrier` is null
  std::uint32_t taken = 0;            // number of tasks that are in the graph or were refused
  std::array<lane::batch*, template_pool::max_completions> batches{};
  std::uint32_t batch_count = 0;
  bool intact = true;            // whether every node holds its task or is disabled
  std::vector<refusal> refused;  // launches that the driver refused

  [[nodiscard]] std::span<lane::batch* const> all() const noexcept {
    return {batches.data(), batch_count};
  }
};

/// Threads: only the holder of the device's lease, with the context current. The launcher returns
/// driver errors, and the caller must handle them.
class batch_launcher {
 public:
  /// The objects that the launcher uses.
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    completion_board& board;
    lane_set& lanes;
  };
  explicit batch_launcher(parts const& with);
  /// Loads flotilla's built-in kernels and reserves memory for graphs.
  /// @param idle_stream   A stream without other work; the call waits for it.
  /// @param replacements  For tests: kernels of a CPU device that replace the built-in kernels.
  /// Null: nothing is replaced.
  /// @throws driver_error, std::bad_alloc
  void create(CUstream idle_stream, builtin_functions const* replacements);
  void destroy() noexcept;

  /// Returns whether this driver can launch batches as graphs.
  [[nodiscard]] bool usable() const noexcept { return templates_.usable(); }

  /// Takes a template, fills it with the first of `tasks`, and begins the template's batches on the
  /// lane. Stores the result in `batch`. The lane must have room for template_pool::max_completions
  /// batches.
  void prepare(lane& lane, std::span<slot_address const> tasks, batch_traits const& traits,
               prepared_batch& batch);
  /// Launches the prepared graph and commits its batches. On failure, cancels the batches.
  [[nodiscard]] CUresult launch(lane& lane, batch_traits const& traits, prepared_batch& batch);
  /// Makes the next launch of the template begin with a wait for another device. Only for templates
  /// that wait for another device.
  [[nodiscard]] CUresult set_wait(graph_template& carrier, end_mark mark) const noexcept;
  /// The address of the word that stops kernels of this device that wait for another device.
  [[nodiscard]] CUdeviceptr stop_address() const noexcept;
  /// Takes back a template. Call it after the batches that the template carried have ended.
  void give_back(graph_template& unused) noexcept { templates_.give_back(unused); }

  /// Launches one task without a graph. If the kernel has a task_status, makes it name the status
  /// word of `batch`, and marks the batch.
  [[nodiscard]] CUresult launch_direct(lane const& lane, lane::batch& batch, slot_address task);
  /// Launches one item of a chunk without a graph.
  /// @param record  The record of the item.
  [[nodiscard]] CUresult launch_item(lane const& lane, slot_address chunk, std::byte const* record);
  /// Returns the name of the driver function with which `launch_direct` launches this task.
  [[nodiscard]] char const* direct_entry(slot_address task) const noexcept;

  [[nodiscard]] builtin_functions const& functions() const noexcept {
    return builtins_.functions();
  }
  /// Returns the kernel that writes the completion number of a batch of `size` tasks. Null means
  /// that a write-value operation of the driver writes the number.
  [[nodiscard]] CUfunction completion_for(batch_traits const& traits,
                                          std::uint32_t size) const noexcept;
  /// The templates of this device, for other launchers.
  [[nodiscard]] template_pool& templates() noexcept { return templates_; }
  /// Registered memory for the records of grids and of recorded graphs.
  [[nodiscard]] registered_slabs& slabs() noexcept { return slabs_; }

 private:
  [[nodiscard]] bool has_attributes(slot_address task) const noexcept;
  /// Makes the task_status among the arguments name the status word of `batch`.
  void pass_status(lane const& lane, lane::batch& batch, slot_address task);
  [[nodiscard]] std::byte const* arguments_of(slot_address task) const noexcept;
  /// Returns the node parameters of the task's launch, valid until the next call.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& node_of(slot_address task) {
    slot const& one = parts_.tasks.at(task);
    return node_of(one, {one.grid[0], one.grid[1], one.grid[2]}, arguments_of(task));
  }
  /// @param form  A task with the kernel, the block and the shared memory of the launch.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& node_of(slot const& form,
                                                       std::array<std::uint32_t, 3> const& grid,
                                                       std::byte const* arguments);
  [[nodiscard]] CUresult launch_node(lane const& lane, CUDA_KERNEL_NODE_PARAMS const& node) const;

  parts const parts_;
  builtin_kernels builtins_;
  template_pool templates_;
  registered_slabs slabs_;
  kernel_node node_;
};

}  // namespace flotilla::dispatch
