// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How a launch becomes a task of an open batch.
#include <algorithm>

#include "dispatch/batching/batcher.hpp"

namespace flotilla::dispatch {

void batcher::join(open_batch& batch, slot const& task) const {
  batch_traits& traits = batch.traits;
  if (batch.count == 0 || task.kernel != traits.kernel) {
    kernel_profile const& profile = parts_.profiles.of(task.kernel);
    traits.long_running = traits.long_running || profile.long_running();
    batch.kernel_ns = std::max(batch.kernel_ns, profile.kernel_ns());
    if (task.kernel != traits.kernel) { traits.kernel = batch_traits::no_kernel; }
  }
  if (batch.count == 1 && batch.waits && !traits.ordered) {
    // A step of several tasks. If one of them were followed by a chain, the steps of the others
    // would be in batches behind that chain.
    parts_.profiles.of(task.kernel).note_fork();
  }
  // `set_size` has checked the first task.
  if (!traits.all_in_grids || batch.count == 0) { return; }
  bool const has_form = grid_policy::have_one_form(task, parts_.tasks.at(batch.tasks[0]));
  traits.all_in_grids =
      has_form ? grid_policy::takes_like(task) && blocks_of(task) <= batch.max_blocks_of_task
               : parts_.grids.takes(task);
  traits.one_form = traits.one_form && traits.all_in_grids && has_form;
}

bool batcher::put_in_step(slot_address task, batch_place where) {
  if (!parts_.waves.is_open(where)) { return false; }
  open_batch& step = parts_.waves.at(where);
  slot const& one = parts_.tasks.at(task);
  slot const& first = parts_.tasks.at(step.tasks[0]);
  // All properties that `follow` considers depend on these.
  bool const is_like_first =
      one.batch && one.level == first.level && grid_policy::takes_like(one) &&
      grid_policy::have_one_form(one, first) && blocks_of(one) == blocks_of(first);
  bool const has_room = parts_.lanes.has_room(one.level) && step.may_grow && step.has_room() &&
                        !step.traits.ordered && step.traits.all_in_grids && step.traits.one_form;
  if (!is_like_first || !has_room) { return false; }
  if (step.count == 1) {
    put(task, where);
  } else {
    put_like_others(task, step, where);
  }
  return true;
}

bool batcher::join_step(slot_address task, batch_place ahead, bool is_only) {
  batch_place const where{ahead.wave + 1, ahead.lane};
  // `extends_chain` must decide, unless it would refuse the launch. It refuses a launch behind
  // several batches, or behind a batch of grids that is no chain.
  open_batch const& before = parts_.waves.at(ahead);
  bool const may_be_chain = !before.traits.grids || before.count == 1 || before.traits.ordered;
  if (is_only && may_be_chain) { return false; }
  if (!put_in_step(task, where)) { return false; }
  parts_.waves.at(where).lanes_before |= open_waves::bit_of(ahead.lane);
  return true;
}

bool batcher::put(slot_address task, batch_place where) {
  open_batch& batch = parts_.waves.at(where);
  join(batch, parts_.tasks.at(task));
  parts_.waves.open(where);
  return put_like_others(task, batch, where);
}

bool batcher::put_like_others(slot_address task, open_batch& batch, batch_place where) {
  slot& one = parts_.tasks.at(task);
  // relaxed: only the holder of this device's lease uses the device's batch marks
  one.batched.store(batch_mark::of(parts_.lanes.device(), where), std::memory_order_relaxed);
  batch.tasks[batch.count++] = task;
  batch.blocks += blocks_of(one);
  resume_parked_on(task);
  return !batch.has_room();
}

void batcher::resume_parked_on(slot_address task) {
  // acquire: pairs with the release in park
  std::uint64_t const successors = parts_.tasks.at(task).successors.load(std::memory_order_acquire);
  if (successor_word::is_task(successor_word::head(successors))) {
    parts_.order.resume_batched(task, runnable_of_);
  }
}

}  // namespace flotilla::dispatch
