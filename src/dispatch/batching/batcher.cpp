// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/batcher.hpp"

#include <algorithm>

namespace flotilla::dispatch {

namespace {

// Two kernels in one chain of a graph take this much more time than the kernels themselves, and the
// launch of one more graph takes this much (docs/performance.md).
constexpr float chain_node_ns = 500;
constexpr float graph_launch_ns = 5000;

// With more tasks than this at hand, chains of copies and kernels take less time as waves of grids
// than as one graph for each chain.
constexpr std::size_t max_at_hand_of_chain = 8;

// The maximum number of tasks that are launched without a graph and with one write at their end.
// The end of the first becomes visible only after the end of the last.
constexpr std::uint32_t max_one_by_one = 16;

/// Whether the last task of the batch is among the first predecessors of `task`.
bool follows_last(slot const& task, open_batch const& batch) noexcept {
  auto const end =
      task.after_slot.begin() + std::min<std::size_t>(task.dependencies, slot::inline_dependencies);
  return std::find(task.after_slot.begin(), end, batch.tasks[batch.count - 1]) != end;
}

/// Whether the launch, which has attributes, may directly follow its predecessor in this batch. The
/// batch is then launched without a graph.
bool follows_programmatically(slot const& task, unended_predecessors const& before,
                              open_batch const& batch) noexcept {
  bool const is_one_by_one =
      (batch.count == 1 && !batch.traits.device_wait.valid()) || batch.traits.one_by_one;
  return task.batch && is_one_by_one && before.open.size() == 1 && before.launched.empty() &&
         lane_layout::level_of(before.open[0].lane) == task.level;
}

}  // namespace

batcher::batcher(parts const& with) : parts_(with) {
  for (unsigned level = 0; level < priority_levels; ++level) {
    filling_[level] = parts_.places.last(static_cast<priority_level>(level));
  }
  drive_with(nullptr);
}

void batcher::drive_with(joint_waves const* joint) {
  joint_ = joint;
  unsigned const own = parts_.lanes.device();
  runnable_of_.assign(joint == nullptr ? own + 1 : joint->devices(), nullptr);
  for (unsigned i = 0; joint != nullptr && i < runnable_of_.size(); ++i) {
    runnable_of_[i] = (*joint)[i].runnable;
  }
  runnable_of_[own] = &runnable_;
  parts_.places.note_joint(joint != nullptr);
}

bool batcher::loses_in_batch(slot const& task) const {
  return parts_.profiles.of(task.kernel).kernel_ns() >= parts_.filling_launch_ns &&
         parts_.grids.fills_device(task);
}

bool batcher::extends_chain(slot const& task, unended_predecessors const& before,
                            batch_place where) {
  open_batch const& batch = parts_.waves.at(where);
  bool const is_chain = batch.count == 1 || batch.traits.ordered;
  if (batch.traits.grids && !is_chain) { return false; }
  kernel_profile& profile = parts_.profiles.of(task.kernel);
  bool const is_only_predecessor =
      before.open.size() == 1 &&
      std::all_of(before.launched.begin(), before.launched.end(), [&](end_mark mark) {
        return mark.device() == parts_.lanes.device() && mark.lane() == where.lane;
      });
  if (!is_only_predecessor || lane_layout::level_of(where.lane) != task.level) { return false; }
  bool const has_copies =
      builtin_index::contains(task.kernel) || builtin_index::contains(batch.traits.kernel);
  if (has_copies && at_hand() > max_at_hand_of_chain) { return false; }
  // Short tasks lose little if they run one after another, except tasks that can share a grid.
  bool const loses_little =
      profile.kernel_ns() < short_kernel_ns && !parts_.places.shares_lane(task);
  // A task waits for the end of a whole batch. So if two tasks follow one task, and the first of
  // them has extended the chain, the second waits for the first.
  if (is_chain && !loses_little && !follows_last(task, batch)) {
    profile.note_fork();
    return false;
  }
  if (batch.count >= std::min(batch.max_chain, profile.shape().max_chain)) { return false; }
  // A task with several predecessors probably continues a step of several tasks.
  if (!loses_little) { return is_chain && task.dependencies == 1 && profile.note_link(); }
  // Few short tasks take less time one after another in one graph than in a graph of their own.
  return is_chain ||
         static_cast<float>(batch.count) * (profile.kernel_ns() + chain_node_ns) <= graph_launch_ns;
}

void batcher::begin_after(batch_place where, slot const& first, batch_shape const& shape) {
  open_batch& batch = parts_.waves.at(where);
  batch.max_chain = shape.max_chain_behind;
  batch.waits = batch.may_grow = true;
  // Other tasks wait for the whole batch, so its tasks run side by side as far as possible.
  batch.traits = {.chains = template_pool::max_chains,
                  .rows_per_completion = shape.rows_per_completion,
                  .kernel = first.kernel};
  set_size(batch, first, shape.max_tasks);
}

void batcher::set_size(open_batch& batch, slot const& first, std::uint32_t max_tasks) const {
  batch.traits.grids = batch.traits.all_in_grids = batch.traits.one_form =
      !batch.traits.device_wait.valid() && parts_.places.can_be_in_grid(first);
  batch.max_tasks = batch.traits.grids ? lane::max_tasks : max_tasks;
  if (!batch.traits.grids) {
    batch.max_blocks_of_task = batch.max_blocks = 0;
    return;
  }
  float const kernel_ns = parts_.profiles.of(first.kernel).kernel_ns();
  batch.max_blocks_of_task = parts_.grids.max_blocks_of_task(first, kernel_ns);
  batch.max_blocks = parts_.grids.max_blocks(first, kernel_ns);
}

void batcher::resume_followers() {
  parts_.waves.visit([this](batch_place where) {
    open_batch const& batch = parts_.waves.at(where);
    for (std::uint32_t i = 0; i < batch.count; ++i) { resume_parked_on(batch.tasks[i]); }
  });
}

batcher::step batcher::follow(slot_address task, unended_predecessors const& before) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  if (before.elsewhere.empty()) {
    batch_place const last =
        *std::max_element(before.open.begin(), before.open.end(),
                          [](batch_place a, batch_place b) { return a.wave < b.wave; });
    if (one.attributed && follows_programmatically(one, before, parts_.waves.at(last)))
        [[unlikely]] {
      open_batch& batch = parts_.waves.at(last);
      batch.traits.chains = 1;
      batch.traits.ordered = batch.traits.one_by_one = true;
      batch.max_tasks = batch.max_chain = max_one_by_one;
      return added(task, last);
    }
    if (extends_chain(one, before, last)) {
      open_batch& batch = parts_.waves.at(last);
      batch_shape const& shape = parts_.profiles.of(one.kernel).shape();
      batch.max_tasks = batch.max_chain = std::min(batch.max_chain, shape.max_chain);
      batch.traits.chains = 1;
      batch.traits.rows_per_completion =
          std::min(batch.traits.rows_per_completion, shape.rows_per_completion);
      batch.traits.ordered = true;
      return added(task, last);
    }
  }
  unsigned const wave = wave_after(before);
  if (!before.elsewhere.empty()) {
    batch_place const step{wave, lane_of_step_};
    if (wave < open_waves::max_waves && put_in_step(task, step)) {
      follow_all(step, before);
      return {kinds::added, step};
    }
  }
  // The next pass starts the task. If the waves were launched now, they would lack those of their
  // tasks that this pass has not started yet.
  if (wave >= open_waves::max_waves) { return {kinds::no_room}; }
  batch_shape const& shape = parts_.profiles.of(one.kernel).shape();
  unsigned const lane = parts_.places.of_wave(wave, before, one);
  if (lane == lane_layout::no_lane) { return {kinds::no_room}; }
  batch_place const where{wave, lane};
  parts_.waves.reach(wave);
  if (!parts_.waves.is_open(where)) {
    begin_after(where, one, shape);
    if (joint_ != nullptr) { parts_.places.note_behind(one, lane); }
  }
  if (!before.elsewhere.empty()) { lane_of_step_ = lane; }
  follow_all(where, before);
  // A full batch of a later wave cannot be launched yet. `may_join` refuses further tasks.
  put(task, where);
  return {kinds::added, where};
}

unsigned batcher::wave_after(unended_predecessors const& before) noexcept {
  unsigned wave = 0;
  for (batch_place const ahead : before.open) { wave = std::max(wave, ahead.wave + 1); }
  for (auto const& ahead : before.elsewhere) { wave = std::max(wave, ahead.place.wave + 1); }
  return wave;
}

void batcher::follow_all(batch_place where, unended_predecessors const& before) {
  open_batch& batch = parts_.waves.at(where);
  for (batch_place const ahead : before.open) {
    batch.lanes_before |= open_waves::bit_of(ahead.lane);
  }
  for (place_elsewhere const& ahead : before.elsewhere) {
    (*joint_)[ahead.device].waves->at(ahead.place).is_awaited_elsewhere = true;
    if (std::ranges::find(batch.before_elsewhere, ahead) == batch.before_elsewhere.end()) {
      batch.before_elsewhere.push_back(ahead);
    }
  }
  for (end_mark const mark : before.launched) { unended_predecessors::add_mark(batch.marks, mark); }
}

batcher::step batcher::add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                           bool alone) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  batch_shape const& shape = parts_.profiles.of(one.kernel).shape();
  unsigned& filling = filling_[one.level];
  unsigned lane = lane_layout::no_lane;
  // In a joint pass, the tasks of a step wait together for the other devices.
  bool const shares_wait = joint_ != nullptr && parts_.places.shares_lane(one);
  bool const waits_here = shares_wait || !any_elsewhere(waits, parts_.lanes.device());
  // Alone, the launch can wait for other devices in the lane of a predecessor too.
  if (one.dependencies != 0 && (waits_here || alone)) {
    lane = alone ? lane_layout::no_lane : parts_.places.joinable(waits, one);
    if (lane != lane_layout::no_lane) {
      for (end_mark const mark : waits) {
        unended_predecessors::add_mark(parts_.waves.at({0, lane}).marks, mark);
      }
      return added(task, {0, lane});
    }
    batch_lanes::choice const behind = parts_.places.behind(waits, one, alone);
    if (behind.flush_first) { return {kinds::flush_first, {0, behind.lane}}; }
    lane = behind.lane;
    if (behind.is_full && lane == lane_layout::no_lane) { return {kinds::no_room}; }
  } else if (waits.empty() && !alone && parts_.places.can_be_in_grid(one)) {
    lane = parts_.places.of_grid(one);
    if (lane != lane_layout::no_lane) {
      parts_.places.note_last(one, lane);
      return added(task, {0, lane});
    }
  } else if (open_batch& batch = parts_.waves.at({0, filling});
             waits.empty() && batch.count != 0 && !batch.traits.grids) {
    std::uint32_t const max = std::min(batch.max_tasks, shape.max_batch(at_hand()));
    if (alone || batch.waits || batch.traits.one_by_one || batch.traits.chains != shape.chains ||
        batch.count >= max) {
      return {kinds::flush_first, {0, filling}};
    }
    batch.max_tasks = max;
    batch.max_chain = std::min(batch.max_chain, shape.max_ordered_batch(at_hand()));
    batch.traits.rows_per_completion =
        std::min(batch.traits.rows_per_completion, shape.rows_per_completion);
    parts_.places.note_last(one, filling);
    return added(task, {0, filling});
  }
  if (lane == lane_layout::no_lane) {
    lane = parts_.places.any(one, alone && one.batch && loses_in_batch(one));
  }
  if (lane == lane_layout::no_lane) { return {kinds::no_room}; }
  if (alone) {
    auto const answer = parts_.lanes.enqueue_waits(parts_.lanes[lane], waits);
    return {answer.ok() ? kinds::alone : kinds::refused, {0, lane}, answer};
  }
  open_batch& batch = parts_.waves.at({0, lane});
  if (one.dependencies != 0 && waits_here) {
    begin_after({0, lane}, one, shape);
    parts_.places.note_behind(one, lane);
  } else {
    begin(lane, one, shape, device_wait);
    batch.waits = !waits.empty();
    if (waits.empty()) {
      parts_.places.note_last(one, lane);
      if (!batch.traits.grids) { filling = lane; }
    }
  }
  batch.marks.assign(waits.begin(), waits.end());
  return added(task, {0, lane});
}

void batcher::begin(unsigned lane, slot const& first, batch_shape const& shape,
                    end_mark device_wait) {
  open_batch& batch = parts_.waves.at({0, lane});
  batch.max_chain = shape.max_ordered_batch(at_hand());
  batch.traits = {.chains = shape.chains,
                  .rows_per_completion = shape.rows_per_completion,
                  .kernel = first.kernel,
                  .device_wait = device_wait};
  set_size(batch, first, shape.max_batch(at_hand()));
}

}  // namespace flotilla::dispatch
