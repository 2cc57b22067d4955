// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches many tasks as a few grids.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <span>

#include "context/context_handle.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_groups.hpp"
#include "dispatch/grid/grid_limits.hpp"
#include "dispatch/grid/grid_records.hpp"
#include "dispatch/grid/near_records.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A grid of a kernel's twin runs many launches of the kernel side by side: each block reads from a
/// record which launch it belongs to (flotilla/detail/kernel_twin.hpp). A task then costs the
/// device a record instead of a kernel. Several grids are the nodes of one graph, so they cost the
/// host one launch. All tasks of a launch end together, as one batch.
///
/// Threads: only the holder of the device's lease, with the context current. The launcher returns
/// driver errors, and the caller must handle them.
class grid_launcher {
 public:
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    lane_set& lanes;
    batch_launcher& launcher;
    grid_limits const& limits;
  };
  explicit grid_launcher(parts const& with);
  /// Call both with the context current, `create` after batch_launcher::create.
  void create(CUstream memory_stream) noexcept {
    near_.create(parts_.launcher.functions().copy, memory_stream);
  }
  void destroy() noexcept { near_.destroy(); }

  enum class arrangement { one_after_another, side_by_side };
  /// The maximum number of groups that can run side by side.
  static constexpr std::size_t max_side_by_side = template_pool::max_chains;

  /// Launches each group of tasks as one grid, and begins and commits a batch of the lane for all
  /// of them. The tasks of a group must have one form, and `grid_policy::takes` must accept each.
  struct outcome {
    lane::batch* batch = nullptr;  // null: nothing was launched, for the reason `status`
    CUresult status = CUDA_SUCCESS;
    // How many kernels of the tasks' length run one after another, and what else takes time.
    std::uint32_t depth = 0;
    std::uint32_t other_ns = 0;
  };
  [[nodiscard]] outcome launch(lane& lane, std::span<grid_groups::group const> groups,
                               arrangement how, batch_traits const& traits);
  /// The records, for other launchers of grids.
  [[nodiscard]] grid_records& records() noexcept { return records_; }
  /// Takes the records of a batch that has ended.
  void give_back(lane::batch const& ended) noexcept { records_.give_back(ended.records); }

 private:
  struct grid_node;
  using groups_span = std::span<grid_groups::group const>;
  /// Writes the records of all groups, and counts them.
  void write(groups_span groups);
  /// Returns the address of the copy of the records if the grids should read it, else 0.
  [[nodiscard]] CUdeviceptr copy_of_records(arrangement how) noexcept;
  [[nodiscard]] grid_node node_of(grid_groups::group tasks, grid_records::written records);
  /// Returns a template for so many nodes.
  /// @throws driver_error, std::bad_alloc
  [[nodiscard]] graph_template& take_template(lane const& lane, std::size_t nodes, arrangement how,
                                              batch_traits const& traits,
                                              CUDA_KERNEL_NODE_PARAMS const& any);
  /// Sets the nodes. Disables the nodes that remain.
  /// @param copy  the address of the copy of the records, or 0
  [[nodiscard]] CUresult fill(graph_template& carrier, groups_span groups, CUdeviceptr copy);

  parts const parts_;
  grid_records records_;
  near_records near_;
  // Of the launch that is being made:
  std::array<grid_records::written, grid_groups::max_groups> written_{};
  std::uint64_t tasks_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint32_t depth_ = 0;
};

}  // namespace flotilla::dispatch
