// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/batch_lanes.hpp"

#include <algorithm>
#include <bit>

namespace flotilla::dispatch {

namespace {

// A task whose predecessor is in flight goes to the predecessor's lane, because the task could not
// start earlier in another lane. It waits if that lane has this many batches in flight or open.
// These batches keep the GPU busy until the next pass. With more batches, the tasks of one step
// would drift apart and share fewer batches, and each batch needs a template, which costs as much
// time as many launches.
constexpr std::size_t max_short_ahead = 12;
constexpr std::size_t max_long_ahead = 2;
// The same for a shared lane. Tasks that wait meanwhile become more waves of the next graph.
constexpr std::size_t max_shared_ahead = 6;
// The same for grids of several devices (joint_run): one runs, and the next one is ready.
constexpr std::size_t max_runs_ahead = 2;
// The same if the waves are ordered grids, in which each wave is a batch.
constexpr std::size_t max_ordered_ahead = 12;

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

batch_lanes::batch_lanes(parts const& with) : parts_(with) {
  for (auto& lanes : shared_) { lanes.fill(lane_layout::no_lane); }
  for (unsigned level = 0; level < priority_levels; ++level) {
    last_[level] = lane_layout::launch_lanes_of(static_cast<priority_level>(level)).first;
  }
}

std::size_t batch_lanes::class_of(slot const& task) const {
  // Without a barrier after each step, longer tasks lose nothing in a shared lane.
  constexpr float max_ns = 50'000;
  constexpr float max_ordered_ns = 90'000;
  if (!can_be_in_grid(task)) { return no_class; }
  kernel_profile& profile = parts_.profiles.of(task.kernel);
  float const length_ns = profile.kernel_ns();
  bool const ordered = profile.order().prefers_order();
  float const max_lengths_ns[length_classes] = {short_kernel_ns, long_running_kernel_ns,
                                                joint_    ? max_joint_ns
                                                : ordered ? max_ordered_ns
                                                          : max_ns};
  auto const found =
      std::upper_bound(std::begin(max_lengths_ns), std::end(max_lengths_ns), length_ns);
  return static_cast<std::size_t>(found - std::begin(max_lengths_ns));
}

unsigned batch_lanes::shared_by(slot const& task) const {
  std::size_t const of = class_of(task);
  return of == no_class ? lane_layout::no_lane : shared_[task.level][of];
}

void batch_lanes::note_behind(slot const& first, unsigned lane) {
  if (std::size_t const of = class_of(first); of != no_class) { shared_[first.level][of] = lane; }
}

bool batch_lanes::have_room_behind() const noexcept {
  return std::ranges::all_of(shared_[0], [this](unsigned lane) {
    if (lane == lane_layout::no_lane) { return true; }
    dispatch::lane const& used = parts_.lanes[lane];
    std::size_t ahead = 0;
    for (std::size_t i = 0; i < used.in_flight(); ++i) {
      bool const is_last_of_launch = i + 1 == used.in_flight() || !used.in_flight(i + 1).joined;
      if (!is_last_of_launch) { continue; }
      ahead += used.in_flight(i).in_joint_run ? max_shared_ahead / max_runs_ahead : 1;
    }
    return ahead < max_shared_ahead;
  });
}

std::chrono::steady_clock::time_point batch_lanes::last_end_behind() const noexcept {
  std::chrono::steady_clock::time_point last{};
  for (unsigned const lane : shared_[0]) {
    if (lane != lane_layout::no_lane) { last = std::max(last, parts_.lanes[lane].last_end()); }
  }
  return last;
}

bool batch_lanes::takes_batch(unsigned lane, slot const& task) const {
  if (!parts_.lanes[lane].has_room()) { return false; }
  std::size_t const in_flight = parts_.lanes[lane].in_flight();
  // The waves of a shared lane are launched as one graph, so the open ones do not count.
  if (shares_lane(task)) {
    if (joint_) {
      // Any of the open batches may become several.
      return takes_joint_ && parts_.lanes[lane].has_room(open_waves::max_batches_of_flush +
                                                         parts_.waves.batches_of(lane));
    }
    bool const ordered = parts_.profiles.of(task.kernel).order().prefers_order();
    return in_flight < (ordered ? max_ordered_ahead : max_shared_ahead);
  }
  return in_flight + parts_.waves.batches_of(lane) <
         (is_short(task.kernel) ? max_short_ahead : max_long_ahead);
}

unsigned batch_lanes::of_burst(slot const& task) const {
  if (task.dependencies != 0 || !task.batch || !parts_.lanes.has_room(task.level)) {
    return lane_layout::no_lane;
  }
  if (unsigned const lane = last_[task.level]; continues_burst(lane, task)) { return lane; }
  // Launches of several kernels in turn go into one grid for each kernel.
  unsigned const lane = task.level == 0 ? parts_.profiles.of(task.kernel).lane() : 0;
  return task.level == 0 && continues_burst(lane, task) ? lane : lane_layout::no_lane;
}

unsigned batch_lanes::any(slot const& task, bool fills_device) const {
  // Launches that fill the device run one after another. With more lanes, they would follow each
  // other less often in one lane.
  constexpr std::uint32_t lanes_of_filling = 4;
  batch_shape const& shape = parts_.profiles.of(task.kernel).shape();
  std::uint32_t const lanes = fills_device ? lanes_of_filling : shape.lanes;
  return parts_.lanes.find_lane(
      {task.level, lanes, shape.batches, parts_.waves.lanes(), last_[task.level]});
}

unsigned batch_lanes::of_wave(unsigned wave, unended_predecessors const& before,
                              slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  auto const takes = [&](unsigned lane) {
    batch_place const where{wave, lane};
    return parts_.waves.is_open(where) ? may_join(where) : takes_batch(lane, task);
  };
  // In a joint pass, all steps go into one lane, also those behind tasks in other lanes.
  if (unsigned const shared = joint_ ? shared_by(task) : lane_layout::no_lane;
      shared != lane_layout::no_lane) {
    return takes(shared) ? shared : lane_layout::no_lane;
  }
  bool is_full = false;  // whether the lane of a predecessor has too many batches
  for (batch_place const ahead : before.open) {
    if (!range.contains(ahead.lane)) { continue; }
    if (takes(ahead.lane)) { return ahead.lane; }
    is_full = is_full || !parts_.waves.is_open({wave, ahead.lane});
  }
  if (is_full) { return lane_layout::no_lane; }
  // All batches of a wave wait for earlier waves, so joining another batch costs little time.
  for (std::uint64_t left = parts_.waves.lanes(wave); left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    if (range.contains(lane) && may_join({wave, lane})) { return lane; }
  }
  return any(task);
}

unsigned batch_lanes::of_grid(slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  for (std::uint64_t left = parts_.waves.lanes(0); left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    open_batch const& batch = parts_.waves.at({0, lane});
    if (range.contains(lane) && batch.traits.grids && batch.traits.kernel == task.kernel &&
        !batch.waits && !batch.traits.ordered && batch.has_room()) {
      return lane;
    }
  }
  return lane_layout::no_lane;
}

unsigned batch_lanes::joinable(std::span<end_mark const> waits, slot const& task) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  if (unsigned const shared = shared_by(task); shared != lane_layout::no_lane) {
    bool const is_behind =
        (joint_ && any_elsewhere(waits, parts_.lanes.device())) ||
        std::ranges::all_of(waits, [shared](end_mark mark) { return mark.lane() == shared; });
    if (is_behind && parts_.waves.is_open({0, shared}) && may_join({0, shared})) { return shared; }
  }
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

batch_lanes::choice batch_lanes::behind(std::span<end_mark const> waits, slot const& task,
                                        bool alone) const {
  lane_range const range = lane_layout::launch_lanes_of(task.level);
  choice found;
  // In a joint pass, tasks that wait for other devices wait together. Others stay in their lanes.
  if (unsigned const shared = joint_ && any_elsewhere(waits, parts_.lanes.device()) && !alone
                                  ? shared_by(task)
                                  : lane_layout::no_lane;
      shared != lane_layout::no_lane) {
    if (!takes_batch(shared, task)) { return {.is_full = true}; }
    return {shared, false, parts_.waves.is_open({0, shared})};
  }
  for (end_mark const mark : waits) {
    unsigned const lane = mark.lane();
    bool const is_here = mark.device() == parts_.lanes.device() && range.contains(lane);
    if (!is_here || parts_.waves.is_open({0, lane})) { continue; }
    // Behind other work, a long task would wait in this lane although it could run in another one.
    bool const is_last = parts_.lanes[lane].last_number() == mark.number();
    if (!is_last && !is_short(task.kernel)) { continue; }
    bool const takes = alone ? parts_.lanes[lane].has_room(open_waves::max_batches_of_flush)
                             : takes_batch(lane, task);
    if (takes) { return {lane}; }
    found.is_full = true;
  }
  if (found.is_full || alone) { return found; }
  // No predecessor is in a lane that this task could follow.
  unsigned const shared = shared_by(task);
  if (shared == lane_layout::no_lane) { return found; }
  if (!takes_batch(shared, task)) { return {.is_full = true}; }
  return {shared, false, parts_.waves.is_open({0, shared})};
}

}  // namespace flotilla::dispatch
