// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the lane of a launch.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/batching/unended_predecessors.hpp"
#include "dispatch/grid/grid_policy.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

/// A lane keeps the order of its batches at no cost, but a wait for another lane takes some
/// microseconds. So a launch with predecessors goes to the lane of a predecessor.
///
/// Launches with predecessors whose kernels can be in grids and take about as long *share* a lane.
/// Their steps are waves there, and all tasks of a wave run side by side, so nothing is lost. If
/// they used several lanes, each wave would wait for waves of other lanes, and no two of them could
/// be in one graph. Kernels of more than 50 us do not share lanes, because tasks that are not
/// related would wait for each other too long.
///
/// Threads: only the holder of the device's lease.
class batch_lanes {
 public:
  struct parts {
    lane_set const& lanes;
    open_waves const& waves;
    kernel_profiles& profiles;
    grid_policy const& grids;
  };
  explicit batch_lanes(parts const& with);

  /// Returns whether the launch may be a part of a grid and gains something there. A kernel that
  /// was never measured is launched alone.
  [[nodiscard]] bool can_be_in_grid(slot const& task) const {
    float const kernel_ns = parts_.profiles.of(task.kernel).kernel_ns();
    return kernel_ns != 0 && parts_.grids.takes(task) &&
           blocks_of(task) <= parts_.grids.max_blocks_of_task(task, kernel_ns);
  }
  /// Returns whether the kernel is known to be short.
  [[nodiscard]] bool is_short(std::uint32_t kernel) const {
    float const kernel_ns = parts_.profiles.of(kernel).kernel_ns();
    return kernel_ns != 0 && kernel_ns < short_kernel_ns;
  }
  /// Notes whether this device is driven together with others (joint_waves). Then also longer
  /// kernels share lanes, and their steps stay together.
  void note_joint(bool joint) noexcept {
    takes_joint_ = joint && (takes_joint_ || !joint_);
    joint_ = joint;
  }
  /// Returns whether the lanes that launches with predecessors share have room for more batches.
  [[nodiscard]] bool have_room_behind() const noexcept;
  /// The time at which a thread last noticed the end of a batch in one of them.
  [[nodiscard]] std::chrono::steady_clock::time_point last_end_behind() const noexcept;
  /// Sets whether these lanes take batches in this pass. While one of the devices has no room, none
  /// takes any: otherwise the steps of the devices would drift apart.
  void take_joint(bool takes) noexcept { takes_joint_ = takes; }
  [[nodiscard]] bool takes_joint() const noexcept { return takes_joint_; }
  /// Returns whether launches like this one share a lane if they have predecessors.
  [[nodiscard]] bool shares_lane(slot const& task) const { return class_of(task) != no_class; }
  /// Returns whether they would, if the device were driven together with others.
  [[nodiscard]] bool may_share_jointly(slot const& task) const {
    return can_be_in_grid(task) && parts_.profiles.of(task.kernel).kernel_ns() < max_joint_ns;
  }

  /// Returns the lane of an open batch of wave 0 that this launch without predecessors can join as
  /// a part of its grid, or no_lane if there is none.
  [[nodiscard]] unsigned of_grid(slot const& task) const;
  /// Returns the lane of an open batch of wave 0 that a launch with these predecessors on this
  /// device may join, or no_lane if there is none.
  [[nodiscard]] unsigned joinable(std::span<end_mark const> waits, slot const& task) const;
  struct choice {
    unsigned lane = lane_layout::no_lane;  // no_lane if there is none
    bool is_full = false;      // whether the lane has too many batches, so the task must wait
    bool flush_first = false;  // whether the open batch of `lane` must be launched first
  };
  /// Returns the lane in which a launch with these predecessors on this device can begin a batch
  /// of wave 0.
  [[nodiscard]] choice behind(std::span<end_mark const> waits, slot const& task, bool alone) const;
  /// Returns the lane for a launch in the wave after its predecessors, or no_lane if there is none.
  [[nodiscard]] unsigned of_wave(unsigned wave, unended_predecessors const& before,
                                 slot const& task) const;
  /// Returns the launch lane with the fewest batches, or no_lane if all lanes are full.
  /// @param fills_device  Whether the launch fills the device for long.
  [[nodiscard]] unsigned any(slot const& task, bool fills_device = false) const;

  /// Returns the lane of an open batch to which launches of this kernel without predecessors were
  /// added, and which this launch may join. Returns no_lane if there is none. Cheaper than the
  /// functions above.
  [[nodiscard]] unsigned of_burst(slot const& task) const;
  /// Notes the lane whose open batch got this launch without predecessors.
  void note_last(slot const& task, unsigned lane) {
    last_[task.level] = lane;
    if (task.level == 0) { parts_.profiles.of(task.kernel).note_lane(lane); }
  }
  [[nodiscard]] unsigned last(priority_level level) const noexcept { return last_[level]; }
  /// Notes the lane in which a batch begins whose tasks have predecessors.
  void note_behind(slot const& first, unsigned lane);

 private:
  // Where steps wait for other devices, each lane more costs each step another wait. So kernels of
  // up to this length share lanes then.
  static constexpr float max_joint_ns = 500'000;
  static constexpr std::size_t length_classes = 3;
  static constexpr std::size_t no_class = length_classes;
  /// Returns the class of launches with which the launch shares a lane.
  [[nodiscard]] std::size_t class_of(slot const& task) const;
  /// Returns the lane that the launch shares, or no_lane.
  [[nodiscard]] unsigned shared_by(slot const& task) const;
  /// Returns whether the lane may get one more open batch that begins with this launch.
  [[nodiscard]] bool takes_batch(unsigned lane, slot const& task) const;
  /// Returns whether the launch without predecessors continues a burst in the open batch of `lane`.
  [[nodiscard]] bool continues_burst(unsigned lane, slot const& task) const noexcept {
    open_batch const& batch = parts_.waves.at({0, lane});
    return batch.count != 0 && !batch.waits && !batch.traits.ordered &&
           task.kernel == batch.traits.kernel;
  }
  /// Returns whether a launch with predecessors may join the open batch at `where`.
  [[nodiscard]] bool may_join(batch_place where) const noexcept {
    open_batch const& batch = parts_.waves.at(where);
    return batch.may_grow && batch.has_room() && !batch.traits.ordered;
  }

  parts const parts_;
  bool joint_ = false;
  bool takes_joint_ = false;
  std::array<unsigned, priority_levels> last_;  // by level
  // By level and by class: the lane of the last batch whose tasks have predecessors.
  std::array<std::array<unsigned, length_classes>, priority_levels> shared_;
};

}  // namespace flotilla::dispatch
