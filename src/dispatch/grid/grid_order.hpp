// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tasks of a grid wait for which others.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/lane/lane.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The predecessors of tasks that are launched as one grid. A task has a position in the grid, and
/// waits only for tasks at earlier positions, and for tasks of other devices: in the grids that are
/// launched together with this one, and in those that were launched together before. Other
/// predecessors do not count: they have ended before the grid begins. Threads: only the holder of
/// the device's lease.
class grid_order {
 public:
  /// With more, their records would not fit into a piece of grid_records.
  static constexpr std::size_t max_edges = 3840;

  struct node {
    std::uint32_t first_edge;  // in `edges`
    std::uint32_t edges;
    std::uint32_t wave;
    std::uint32_t ended;  // see set_ends
  };
  struct edge {
    std::uint32_t position;
    std::uint16_t device;
    bool before;  // whether the task is in the grid that was launched before
  };
  /// By device, the orders of grids of other devices for which tasks may wait. Null: none.
  struct others {
    std::span<grid_order* const> together;  // launched together with this grid
    std::span<grid_order* const> before;    // launched before
  };

  grid_order(task_table const& tasks, unsigned device);

  /// Removes all tasks.
  void clear() noexcept;
  /// Adds the tasks of the next wave. At most lane::max_tasks tasks may be added. Adds nothing if
  /// they have too many predecessors. Returns whether it added the tasks.
  [[nodiscard]] bool add_wave(std::span<slot_address const> tasks) { return add_wave(tasks, {}); }
  [[nodiscard]] bool add_wave(std::span<slot_address const> tasks, others const& elsewhere);
  /// Sets the values that the words of the tasks will have when the tasks have ended.
  /// @param words  By position: the values before the grid.
  void set_ends(std::span<std::uint32_t const> words) noexcept;

  [[nodiscard]] std::span<slot_address const> tasks() const noexcept { return tasks_; }
  /// One node for each task.
  [[nodiscard]] std::span<node const> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<edge const> edges() const noexcept { return edges_; }
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  /// Whether a task waits for a task of another device.
  [[nodiscard]] bool waits_elsewhere() const noexcept {
    return std::ranges::any_of(edges_, [this](edge each) { return each.device != device_; });
  }
  [[nodiscard]] std::uint32_t waves() const noexcept { return waves_; }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  // At most half full, so that a search ends soon.
  static constexpr std::size_t table_size = std::size_t{2} * lane::max_tasks;

  /// Returns the position of a task of an earlier wave, or `none`.
  [[nodiscard]] std::uint32_t find(task_key key) const noexcept;
  /// Adds the edge to a predecessor that is in one of the orders of other devices.
  void add_edge_elsewhere(task_key key, others const& elsewhere);
  /// Returns the element of `table_` for the task, which may be empty.
  [[nodiscard]] std::size_t place_of(slot_address task) const noexcept;

  task_table const& table_of_tasks_;
  unsigned const device_;
  std::vector<slot_address> tasks_;
  std::vector<node> nodes_;
  std::vector<edge> edges_;
  std::array<std::uint32_t, table_size> table_;  // positions, by the hash of the task
  std::uint32_t waves_ = 0;
};

}  // namespace flotilla::dispatch
