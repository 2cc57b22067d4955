// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open batches that are launched together, as one graph of grids.

#include <cstdint>
#include <vector>

#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/batching/order_choice.hpp"
#include "dispatch/grid/grid_groups.hpp"
#include "dispatch/grid/grid_order.hpp"
#include "dispatch/grid/grid_policy.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A *run* is an open batch and batches of the next waves in the same lane. Each of these batches
/// waits for nothing but the batches ahead of it, so they can be the nodes of one graph. Threads:
/// only the holder of the device's lease.
class grid_run {
 public:
  struct parts {
    task_table const& tasks;
    lane_set const& lanes;
    open_waves& waves;
    grid_policy const& policy;
    kernel_profiles& profiles;
    order_use order;
  };
  explicit grid_run(parts const& with) : parts_(with), groups_(with.tasks), order_(with.tasks) {}

  /// Makes the batch at `where` the only one of the run, without grids.
  void begin(batch_place where) {
    batches_.assign(1, where);
    groups_.clear();
    order_.clear();
    was_chosen_ = false;
  }
  /// Finds the run that begins with the batch at `first`, and divides its tasks into grids. Begins
  /// the launch of all tasks after the first batch.
  void find(batch_place first);
  /// Closes the batches of the run, and returns the traits of all of them together. The tasks of
  /// `groups` stay valid until a task is added to an open batch.
  batch_traits close();

  [[nodiscard]] grid_groups const& groups() const noexcept { return groups_; }
  /// The number of groups of the first wave. They come before all other groups.
  [[nodiscard]] std::size_t groups_of_first_wave() const noexcept { return groups_of_first_wave_; }
  [[nodiscard]] std::size_t waves() const noexcept { return batches_.size(); }
  /// Whether all tasks can be one ordered grid, and gain by it. The run has several waves then.
  [[nodiscard]] bool is_ordered() const noexcept { return order_.waves() > 1; }
  /// The order of the tasks, if `is_ordered`.
  [[nodiscard]] grid_order const& order() const noexcept { return order_; }
  /// Whether the run was begun by the order_choice of its kernel, which needs samples.
  [[nodiscard]] bool was_chosen() const noexcept { return was_chosen_; }
  [[nodiscard]] unsigned last_wave() const noexcept { return batches_.back().wave; }

 private:
  struct size {
    std::uint64_t tasks;
    std::uint64_t blocks;
    float length_ns;  // the time that the grids take one after another
  };
  /// Returns the estimated time that the batch takes as grids.
  [[nodiscard]] float length_ns(open_batch const& batch) const;
  /// Returns whether the batch at `where` and the next one of its lane should be an ordered grid.
  [[nodiscard]] bool begins_order(batch_place where);
  /// Returns whether the tasks of both batches have the same form.
  [[nodiscard]] bool have_one_form(open_batch const& one, open_batch const& other) const;
  /// Returns whether the run can get longer by the batch `next`.
  [[nodiscard]] bool has_room(open_batch const& next, size const& ahead) const;
  /// Returns whether the batch at `next` can be in the same graph as the batches ahead.
  [[nodiscard]] bool continues(batch_place next, size const& ahead) const;

  parts const parts_;
  std::vector<batch_place> batches_;
  grid_groups groups_;
  grid_order order_;      // empty if the run is not ordered
  bool ordered_ = false;  // whether to add batches to `order_`
  bool was_chosen_ = false;
  std::size_t groups_of_first_wave_ = 0;
};

}  // namespace flotilla::dispatch
