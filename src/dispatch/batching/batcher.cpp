// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/batcher.hpp"

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

// Two kernels in one chain of a graph take this much more time than the kernels themselves, and the
// launch of one more graph takes this much (docs/performance.md).
constexpr float chain_node_ns = 500;
constexpr float graph_launch_ns = 5000;

// The maximum number of tasks that are launched without a graph and with one write at their end.
// The end of the first becomes visible only after the end of the last.
constexpr std::uint32_t max_one_by_one = 16;

/// Whether the last task of the batch is among the first predecessors of `task`.
bool follows_last(slot const& task, open_batch const& batch) noexcept {
  auto const end =
      task.after_slot.begin() + std::min<std::size_t>(task.dependencies, slot::inline_dependencies);
  return std::find(task.after_slot.begin(), end, batch.tasks[batch.count - 1]) != end;
}

/// Whether a programmatic launch may join this batch, so that it directly follows its predecessor.
bool can_be_one_by_one(open_batch const& batch) noexcept {
  return (batch.count == 1 && !batch.traits.device_wait.valid()) || batch.traits.one_by_one;
}

}  // namespace

batcher::batcher(parts const& with) : parts_(with) {
  for (unsigned level = 0; level < priority_levels; ++level) {
    filling_[level] = last_[level] =
        lane_layout::launch_lanes_of(static_cast<priority_level>(level)).first;
  }
}

bool batcher::is_short(std::uint32_t kernel) const {
  float const kernel_ns = parts_.profiles.of(kernel).kernel_ns();
  return kernel_ns != 0 && kernel_ns < short_kernel_ns;
}

bool batcher::takes_batch(unsigned lane, std::uint32_t kernel) const {
  std::size_t const ahead = parts_.lanes[lane].in_flight() + parts_.waves.batches_of(lane);
  return ahead < (is_short(kernel) ? max_short_ahead : max_long_ahead);
}

bool batcher::may_join(batch_place where) const noexcept {
  open_batch const& batch = parts_.waves.at(where);
  return batch.may_grow && batch.has_room() && !batch.traits.ordered;
}

bool batcher::extends_chain(slot const& task, unended_predecessors const& before,
                            batch_place where) {
  open_batch const& batch = parts_.waves.at(where);
  kernel_profile& profile = parts_.profiles.of(task.kernel);
  bool const is_only_predecessor =
      before.open.size() == 1 &&
      std::all_of(before.launched.begin(), before.launched.end(), [&](end_mark mark) {
        return mark.device() == parts_.lanes.device() && mark.lane() == where.lane;
      });
  if (!is_only_predecessor || lane_layout::level_of(where.lane) != task.level) { return false; }
  bool const is_chain = batch.count == 1 || batch.traits.ordered;
  bool const is_short = profile.kernel_ns() < short_kernel_ns;
  // A task waits for the end of a whole batch. So if two tasks follow one task, and the first of
  // them has extended the chain, the second waits for the first.
  if (is_chain && !is_short && !follows_last(task, batch)) {
    profile.note_fork();
    return false;
  }
  if (batch.count >= std::min(batch.max_chain, profile.shape().max_chain)) { return false; }
  // Few short tasks take less time one after another in one graph than in a graph of their own.
  return is_short ? is_chain ||
                        static_cast<float>(batch.count) * (profile.kernel_ns() + chain_node_ns) <=
                            graph_launch_ns
                  : is_chain && profile.note_link();
}

bool batcher::follows_programmatically(slot const& task, unended_predecessors const& before,
                                       batch_place where) const {
  return task.batch && before.open.size() == 1 && before.launched.empty() &&
         can_be_one_by_one(parts_.waves.at(where)) &&
         lane_layout::level_of(where.lane) == task.level;
}

void batcher::begin_after(batch_place where, slot const& first, batch_shape const& shape) {
  open_batch& batch = parts_.waves.at(where);
  batch.max_chain = shape.max_chain_behind;
  batch.waits = batch.may_grow = true;
  // Other tasks wait for the whole batch, so its tasks run side by side as far as possible.
  batch.traits = {.chains = template_pool::max_chains,
                  .rows_per_completion = shape.rows_per_completion,
                  .kernel = first.kernel,
                  .is_awaited = true};
  set_size(batch, first, shape.max_tasks);
}

bool batcher::can_be_in_grid(slot const& task) const {
  // A kernel that was never measured is launched alone.
  return parts_.profiles.of(task.kernel).kernel_ns() != 0 && parts_.grids.takes(task);
}

void batcher::set_size(open_batch& batch, slot const& first, std::uint32_t max_tasks) const {
  batch.traits.one_grid = batch.traits.one_form =
      !batch.traits.device_wait.valid() && can_be_in_grid(first);
  batch.max_tasks = batch.traits.one_grid ? lane::max_tasks : max_tasks;
  batch.max_blocks =
      batch.traits.one_grid
          ? parts_.grids.max_blocks(first, parts_.profiles.of(first.kernel).kernel_ns())
          : 0;
}

batcher::step batcher::follow(slot_address task, unended_predecessors const& before) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  batch_place const last =
      *std::max_element(before.open.begin(), before.open.end(),
                        [](batch_place a, batch_place b) { return a.wave < b.wave; });
  if (one.attributed && follows_programmatically(one, before, last)) [[unlikely]] {
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
  unsigned const wave = last.wave + 1;
  if (wave == open_waves::max_waves) { return {kinds::flush_first, last}; }
  batch_shape const& shape = parts_.profiles.of(one.kernel).shape();
  unsigned const lane = lane_of_wave(wave, before, one);
  if (lane == lane_layout::no_lane) { return {kinds::no_room}; }
  batch_place const where{wave, lane};
  parts_.waves.reach(wave);
  open_batch& batch = parts_.waves.at(where);
  if (!parts_.waves.is_open(where)) { begin_after(where, one, shape); }
  for (batch_place const ahead : before.open) {
    batch.lanes_before |= open_waves::bit_of(ahead.lane);
  }
  for (end_mark const mark : before.launched) { unended_predecessors::add_mark(batch.marks, mark); }
  // A full batch of a later wave cannot be launched yet. `may_join` refuses further tasks.
  put(task, where);
  return {kinds::added, where};
}

batcher::step batcher::add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                           bool alone) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  batch_shape const& shape = parts_.profiles.of(one.kernel).shape();
  unsigned& filling = filling_[one.level];
  unsigned lane = lane_layout::no_lane;
  bool const waits_here = std::all_of(waits.begin(), waits.end(), [this](end_mark mark) {
    return mark.device() == parts_.lanes.device();
  });
  if (one.dependencies != 0 && waits_here) {
    lane = alone ? lane_layout::no_lane : joinable_lane(waits, one);
    if (lane != lane_layout::no_lane) {
      for (end_mark const mark : waits) {
        unended_predecessors::add_mark(parts_.waves.at({0, lane}).marks, mark);
      }
      return added(task, {0, lane});
    }
    lane_choice const behind = lane_behind(waits, one, alone);
    lane = behind.lane;
    if (behind.is_full && lane == lane_layout::no_lane) { return {kinds::no_room}; }
  } else if (waits.empty() && !alone && can_be_in_grid(one)) {
    lane = lane_of_grid(one);
    if (lane != lane_layout::no_lane) {
      last_[one.level] = lane;
      return added(task, {0, lane});
    }
  } else if (open_batch& batch = parts_.waves.at({0, filling});
             waits.empty() && batch.count != 0 && !batch.traits.one_grid) {
    std::uint32_t const max = std::min(batch.max_tasks, shape.max_batch(at_hand()));
    if (alone || batch.waits || batch.traits.one_by_one || batch.traits.chains != shape.chains ||
        batch.count >= max) {
      return {kinds::flush_first, {0, filling}};
    }
    batch.max_tasks = max;
    batch.max_chain = std::min(batch.max_chain, shape.max_ordered_batch(at_hand()));
    batch.traits.rows_per_completion =
        std::min(batch.traits.rows_per_completion, shape.rows_per_completion);
    last_[one.level] = filling;
    return added(task, {0, filling});
  }
  if (lane == lane_layout::no_lane) {
    lane = parts_.lanes.find_lane(
        {one.level, shape.lanes, shape.batches, parts_.waves.lanes(), last_[one.level]});
  }
  if (lane == lane_layout::no_lane) { return {kinds::no_room}; }
  if (alone) {
    auto const answer = parts_.lanes.enqueue_waits(parts_.lanes[lane], waits);
    return {answer.ok() ? kinds::alone : kinds::refused, {0, lane}, answer};
  }
  open_batch& batch = parts_.waves.at({0, lane});
  if (one.dependencies != 0 && waits_here) {
    begin_after({0, lane}, one, shape);
  } else {
    begin(lane, one, shape, device_wait);
    batch.waits = !waits.empty();
    if (waits.empty()) {
      last_[one.level] = lane;
      if (!batch.traits.one_grid) { filling = lane; }
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

bool batcher::put(slot_address task, batch_place where) {
  open_batch& batch = parts_.waves.at(where);
  slot& one = parts_.tasks.at(task);
  if (batch.count == 0 || one.kernel != batch.traits.kernel) {
    batch.traits.long_running =
        batch.traits.long_running || parts_.profiles.of(one.kernel).long_running();
    if (one.kernel != batch.traits.kernel) {
      batch.traits.kernel = batch_traits::no_kernel;
      batch.traits.one_grid = batch.traits.one_form = false;
      batch.max_tasks = std::min(batch.max_tasks, graph_template::max_size);
    }
  }
  // relaxed: only the holder of this device's lease uses the device's batch marks
  one.batched.store(batch_mark::of(parts_.lanes.device(), where), std::memory_order_relaxed);
  if (batch.traits.one_form) {
    batch.traits.one_form =
        batch.count == 0 || (parts_.grids.have_one_form(one, parts_.tasks.at(batch.tasks[0])) &&
                             parts_.grids.takes(one));
  }
  batch.tasks[batch.count++] = task;
  batch.blocks += std::uint64_t{one.grid[0]} * one.grid[1] * one.grid[2];
  parts_.waves.open(where);
  parts_.order.resume_batched(task, parts_.lanes.device(), runnable_);
  return !batch.has_room();
}

}  // namespace flotilla::dispatch
