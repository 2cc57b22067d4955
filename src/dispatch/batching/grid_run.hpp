// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open batches that are launched together, as one graph of grids.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
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
  explicit grid_run(parts const& with)
      : parts_(with),
        groups_(with.tasks),
        orders_{grid_order{with.tasks, with.lanes.device()},
                grid_order{with.tasks, with.lanes.device()}} {}

  /// Makes the batch at `where` the only one of the run, without grids.
  void begin(batch_place where) {
    batches_.assign(1, where);
    groups_.clear();
    order().clear();
    was_chosen_ = false;
  }
  /// Finds the run that begins with the batch at `first`, and divides its tasks into grids. Begins
  /// the launch of all tasks after the first batch.
  void find(batch_place first);
  /// Makes the run empty. Batches are then added with `try_add`.
  void clear() noexcept {
    batches_.clear();
    groups_.clear();
    order().clear();
    was_chosen_ = false;
  }
  /// Adds a batch to a run of several devices (joint_run), which will be an ordered grid, if it can
  /// be a part of it.
  /// @param first_wave     The first wave of the run. All earlier waves are launched.
  /// @param elsewhere      The orders for which tasks may wait.
  /// @param is_in_the_run  Whether an open batch of another device is in the run.
  /// @param is_before_the_run  Whether the run waits for a launched batch in any case.
  [[nodiscard]] bool try_add(batch_place next, unsigned first_wave,
                             grid_order::others const& elsewhere,
                             std::function<bool(place_elsewhere const&)> const& is_in_the_run,
                             std::function<bool(end_mark)> const& is_before_the_run);
  /// Closes the batches of the run, and returns the traits of all of them together. The tasks of
  /// `groups` stay valid until a task is added to an open batch.
  batch_traits close();

  [[nodiscard]] grid_groups const& groups() const noexcept { return groups_; }
  /// The number of groups of the first wave. They come before all other groups.
  [[nodiscard]] std::size_t groups_of_first_wave() const noexcept { return groups_of_first_wave_; }
  [[nodiscard]] std::size_t waves() const noexcept { return batches_.size(); }
  /// Whether all tasks can be one ordered grid, and gain by it. The run has several waves then.
  [[nodiscard]] bool is_ordered() const noexcept { return orders_[current_].waves() > 1; }
  /// The order of the tasks, if `is_ordered`.
  [[nodiscard]] grid_order& order() noexcept { return orders_[current_]; }
  /// Keeps the order of the run until this is called again.
  void keep_order() noexcept { current_ = 1 - current_; }
  /// The order that was kept.
  [[nodiscard]] grid_order& kept_order() noexcept { return orders_[1 - current_]; }
  [[nodiscard]] std::span<batch_place const> batches() const noexcept { return batches_; }
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
  /// Returns the size of the whole run.
  [[nodiscard]] size whole() const;
  /// Returns whether the batch waits for nothing on this device but earlier batches of its lane.
  [[nodiscard]] bool waits_for_its_lane(batch_place where) const;
  /// Returns whether the batch at `next` can be in the same graph as the batches ahead.
  [[nodiscard]] bool continues(batch_place next, size const& ahead) const;

  parts const parts_;
  std::vector<batch_place> batches_;
  grid_groups groups_;
  std::array<grid_order, 2> orders_;  // the current one is empty if the run is not ordered
  std::size_t current_ = 0;
  bool ordered_ = false;  // whether to add batches to `order()`
  bool was_chosen_ = false;
  std::size_t groups_of_first_wave_ = 0;
};

}  // namespace flotilla::dispatch
