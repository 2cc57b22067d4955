// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The lanes that the batcher chooses.
#include <algorithm>
#include <bit>

#include "dispatch/batching/batcher.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns whether the batch of `lane` waits for all of these predecessors on this device.
bool waits_for(open_batch const& batch, unsigned lane, std::span<end_mark const> waits) noexcept {
  return std::all_of(waits.begin(), waits.end(), [&](end_mark wanted) {
    return wanted.lane() == lane ||
           std::any_of(batch.marks.begin(), batch.marks.end(), [wanted](end_mark mark) {
             return mark.lane() == wanted.lane() && mark.number() >= wanted.number();
           });
  });
}

}  // namespace

unsigned batcher::lane_of_wave(unsigned wave, unended_predecessors const& before,
                               slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  bool is_full = false;  // whether the lane of a predecessor has too many batches
  for (batch_place const ahead : before.open) {
    batch_place const where{wave, ahead.lane};
    if (!range.contains(ahead.lane)) { continue; }
    if (parts_.waves.is_open(where) ? may_join(where) : takes_batch(ahead.lane, task.kernel)) {
      return ahead.lane;
    }
    is_full = is_full || !parts_.waves.is_open(where);
  }
  if (is_full) { return lane_layout::no_lane; }
  // All batches of a wave wait for earlier waves, so joining another batch costs little time.
  for (std::uint64_t left = parts_.waves.lanes(wave); left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    if (range.contains(lane) && may_join({wave, lane})) { return lane; }
  }
  batch_shape const& shape = parts_.profiles.of(task.kernel).shape();
  return parts_.lanes.find_lane(
      {task.level, shape.lanes, shape.batches, parts_.waves.lanes(), last_[task.level]});
}

unsigned batcher::lane_of_grid(slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  for (std::uint64_t left = parts_.waves.lanes(0); left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    open_batch const& batch = parts_.waves.at({0, lane});
    if (range.contains(lane) && batch.traits.one_grid && batch.traits.kernel == task.kernel &&
        !batch.waits && !batch.traits.ordered && batch.has_room()) {
      return lane;
    }
  }
  return lane_layout::no_lane;
}

unsigned batcher::joinable_lane(std::span<end_mark const> waits, slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  unsigned of_predecessor = lane_layout::no_lane;
  for (std::uint64_t left = parts_.waves.lanes(0); left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    if (!range.contains(lane) || !may_join({0, lane})) { continue; }
    open_batch const& batch = parts_.waves.at({0, lane});
    // A task that waits for nothing joins only tasks that wait for nothing.
    if (waits.empty() ? batch.marks.empty() : waits_for(batch, lane, waits)) { return lane; }
    bool const follows = std::any_of(waits.begin(), waits.end(),
                                     [lane](end_mark mark) { return mark.lane() == lane; });
    if (follows) { of_predecessor = lane; }
  }
  return of_predecessor;
}

batcher::lane_choice batcher::lane_behind(std::span<end_mark const> waits, slot const& task,
                                          bool alone) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  lane_choice found{lane_layout::no_lane, false};
  for (end_mark const mark : waits) {
    unsigned const lane = mark.lane();
    if (!range.contains(lane) || parts_.waves.is_open({0, lane})) { continue; }
    // Behind other work, a long task would wait in this lane although it could run in another one.
    bool const is_last = parts_.lanes[lane].last_number() == mark.number();
    if (!is_last && !is_short(task.kernel)) { continue; }
    bool const takes = alone ? parts_.lanes[lane].has_room(open_waves::max_batches_of_flush)
                             : takes_batch(lane, task.kernel);
    if (takes) { return {lane, false}; }
    found.is_full = true;
  }
  return found;
}

}  // namespace flotilla::dispatch
