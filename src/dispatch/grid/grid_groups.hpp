// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the tasks of a batch into grids.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/grid/grid_policy.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The grids of one launch. Each group of tasks becomes one grid. The groups of a wave come after
/// the groups of all earlier waves. Threads: only the holder of the device's lease.
class grid_groups {
 public:
  using group = std::span<slot_address const>;
  // A launch of a graph with this many grids costs the host about twice as much as with one grid.
  static constexpr std::size_t max_groups = 16;

  explicit grid_groups(task_table const& tasks) : tasks_(tasks) { order_.reserve(lane::max_tasks); }

  void clear() noexcept {
    groups_.clear();
    others_.clear();
    order_.clear();
  }
  /// Adds the tasks of a wave. At most lane::max_tasks tasks may be added since `clear`. The memory
  /// of `tasks` must stay valid until then.
  /// @param one_form  Whether all of them can be one grid. If not, this function finds out which of
  /// them can.
  void add(group tasks, bool one_form, grid_policy const& policy);
  /// The same, but adds nothing if `others` would get a task. Returns whether it added the tasks.
  [[nodiscard]] bool try_add(group tasks, bool one_form, grid_policy const& policy);

  [[nodiscard]] std::span<group const> groups() const noexcept { return groups_; }
  /// The tasks that are in no group, because the policy does not take them, or because there are
  /// too many groups.
  [[nodiscard]] group others() const noexcept { return others_; }

 private:
  task_table const& tasks_;
  std::vector<group> groups_;
  std::vector<slot_address> others_;
  std::vector<slot_address> order_;  // the tasks of several forms, ordered by group
};

}  // namespace flotilla::dispatch
