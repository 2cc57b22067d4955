// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/batcher.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <flotilla/error/driver_status.hpp>

#include "base/single_writer.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// A task whose predecessor is in flight goes to the predecessor's lane, because the task could not
// start earlier in another lane. Exception: if that lane has this many batches in flight, the task
// goes to another lane. So every lane keeps room for one flush.
constexpr std::size_t max_batches_ahead = lane::max_batches - batcher::max_batches_of_flush;

std::uint64_t bit_of(unsigned lane) noexcept { return std::uint64_t{1} << lane; }

}  // namespace

batcher::batcher(parts const& with)
    : parts_(with),
      runs_in_turn_(with.context.where().kind == device_kind::cpu),
      timer_(with.context) {
  for (unsigned level = 0; level < priority_levels; ++level) {
    filling_[level] = lane_layout::launch_lanes_of(static_cast<priority_level>(level)).first;
  }
}

kernel_profile& batcher::profile_of(std::uint32_t kernel) {
  if (kernel >= profiles_.size()) { profiles_.resize(parts_.kernels.kernels.size()); }
  return profiles_[kernel];
}

void batcher::sample_kernel_time() {
  if (auto const sample = timer_.result(parts_.page)) {
    auto const took = sample->took - sample->entry -
                      (sample->completions - 1) * kernel_profile::completion_node_cost;
    // A CPU device runs the chains one after another, so divide the time by the number of chains.
    profile_of(sample->kernel)
        .note(runs_in_turn_ ? took / sample->chains : took, sample->depth,
              runs_in_turn_ ? 1 : sample->chains);
  } else if (auto const open = runs_in_turn_ ? std::nullopt : timer_.still_open(parts_.page)) {
    profile_of(open->kernel).note_open(open->took, open->depth, open->ahead);
  }
}

batcher::step batcher::follow(slot_address task, unsigned lane) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  batch_shape const& shape = profile_of(one.kernel).shape();
  open_batch& batch = batches_[lane];
  std::uint32_t const max = std::min(batch.max_chain, shape.max_chain);
  if (goes_alone(one) || batch.count >= max || lane_layout::level_of(lane) != one.level) {
    return {kinds::flush_first, lane};
  }
  batch.max_tasks = batch.max_chain = max;
  batch.traits.chains = 1;
  batch.traits.rows_per_completion =
      std::min(batch.traits.rows_per_completion, shape.rows_per_completion);
  batch.traits.ordered = true;
  return added(task, lane);
}

unsigned batcher::lane_of_predecessor(std::span<end_mark const> waits,
                                      priority_level level) const noexcept {
  lane_range const range = lane_layout::launch_lanes_of(level);
  unsigned found = lane_layout::no_lane;
  for (end_mark const mark : waits) {
    if (mark.device() == parts_.lanes.device() && range.contains(mark.lane())) {
      found = mark.lane();
    }
  }
  return found;
}

batcher::step batcher::add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                           bool alone) {
  using kinds = step::kinds;
  slot const& one = parts_.tasks.at(task);
  batch_shape const& shape = profile_of(one.kernel).shape();
  unsigned& filling = filling_[one.level];
  unsigned lane = lane_layout::no_lane;
  if (!waits.empty()) {
    lane = lane_of_predecessor(waits, one.level);
    if (lane != lane_layout::no_lane) {
      if ((open_ & bit_of(lane)) != 0) { return {kinds::flush_first, lane}; }
      if (parts_.lanes[lane].in_flight() >= max_batches_ahead) { lane = lane_layout::no_lane; }
    }
  } else if (open_batch& batch = batches_[filling]; batch.count != 0) {
    std::uint32_t const max = std::min(batch.max_tasks, shape.max_batch(at_hand()));
    if (alone || batch.waits || batch.traits.chains != shape.chains || batch.count >= max) {
      return {kinds::flush_first, filling};
    }
    batch.max_tasks = max;
    batch.max_chain = std::min(batch.max_chain, shape.max_ordered_batch(at_hand()));
    batch.traits.rows_per_completion =
        std::min(batch.traits.rows_per_completion, shape.rows_per_completion);
    return added(task, filling);
  }
  if (lane == lane_layout::no_lane) {
    lane = parts_.lanes.find_lane({one.level, shape.lanes, shape.batches, open_, filling});
  }
  if (lane == lane_layout::no_lane) { return {kinds::no_room}; }
  if (auto const answer = parts_.lanes.enqueue_waits(parts_.lanes[lane], waits, device_wait);
      !answer.ok()) {
    return {kinds::refused, lane, answer};
  }
  if (alone) { return {kinds::alone, lane}; }
  open_batch& batch = batches_[lane];
  batch.max_tasks = shape.max_batch(at_hand());
  batch.max_chain = shape.max_ordered_batch(at_hand());
  batch.waits = !waits.empty();
  batch.traits = {.chains = shape.chains,
                  .rows_per_completion = shape.rows_per_completion,
                  .kernel = one.kernel,
                  .device_wait = device_wait};
  if (device_wait.valid()) { ++open_device_waits_; }
  if (!batch.waits) { filling = lane; }
  return added(task, lane);
}

bool batcher::put(slot_address task, unsigned lane) {
  open_batch& batch = batches_[lane];
  slot& one = parts_.tasks.at(task);
  if (batch.count == 0 || one.kernel != batch.traits.kernel) {
    batch.traits.long_running = batch.traits.long_running || profile_of(one.kernel).long_running();
    if (one.kernel != batch.traits.kernel) { batch.traits.kernel = batch_traits::no_kernel; }
  }
  // relaxed: only the holder of this device's lease uses the device's batch marks
  one.batched.store(batch_mark::of(parts_.lanes.device(), lane), std::memory_order_relaxed);
  batch.tasks[batch.count++] = task;
  open_ |= bit_of(lane);
  parts_.order.resume_batched(task, parts_.lanes.device(), runnable_);
  return batch.count >= batch.max_tasks;
}

void batcher::flush(unsigned lane_number, flush_outcome& outcome) {
  open_ &= ~bit_of(lane_number);
  open_batch& batch = batches_[lane_number];
  lane& lane = parts_.lanes[lane_number];
  batch_traits traits = batch.traits;
  if (traits.device_wait.valid()) { --open_device_waits_; }
  traits.prompt = !parts_.lanes.any_long_running() &&
                  parts_.lanes.batches_waiting_on_device() == 0 && open_device_waits_ == 0;
  std::span<slot_address const> left{batch.tasks.data(), std::exchange(batch.count, 0)};
  // Otherwise a flush of the empty batch would decrement open_device_waits_ again.
  batch.traits.device_wait = {};
  while (!left.empty()) {
    bool refused = false;
    left = left.subspan(launch_first(lane, left, traits, outcome, refused));
    // The other graphs of this flush run after the first graph in the same stream, so only the
    // first graph needs the wait.
    traits.device_wait = {};
    if (outcome.lost) { return; }
    if (!refused || (!traits.ordered && lane.has_room(max_batches_of_flush))) { continue; }
    // The remaining tasks may depend on a refused task, or the lane may have no room for them.
    for (slot_address const task : left) {
      parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
      outcome.again.push_back(task);
    }
    return;
  }
}

std::size_t batcher::launch_first(lane& lane, std::span<slot_address const> tasks,
                                  batch_traits const& traits, flush_outcome& outcome,
                                  bool& refused) {
  parts_.launcher.prepare(lane, tasks, traits, prepared_);
  auto const note_error = [&](CUresult error) {
    outcome.lost = outcome.lost || is_sticky(driver::status_of(error));
    refused = true;
  };
  auto const launch_later = [&](slot_address task) {
    parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
    outcome.alone.push_back(task);
  };
  if (prepared_.carrier == nullptr) {
    note_error(prepared_.status);
    outcome.errors.push_back(prepared_.status);
    launch_later(tasks[0]);
    return 1;
  }
  if (CUresult const answer = launch_prepared(lane, traits); answer == CUDA_SUCCESS) {
    base::add(launched_);
    for (lane::batch const* const part : prepared_.all()) { commit(lane, *part); }
  } else {
    refused = true;
    if (prepared_.intact) {  // if it is not intact, the launcher did not call the driver
      note_error(answer);
      outcome.errors.push_back(answer);
    }
    for (lane::batch const* const part : prepared_.all()) {
      std::for_each_n(part->tasks.begin(), part->count, launch_later);
    }
  }
  for (prepared_batch::refusal const& each : prepared_.refused) {
    // Name cuLaunchKernel, the driver call that the user expects. Which call was really made
    // depends on how the batch was filled.
    outcome.refused.push_back(
        {each.task, {each.status, "cuLaunchKernel (as cuGraphExecKernelNodeSetParams)"}});
    note_error(each.status);
  }
  return prepared_.taken;
}

CUresult batcher::launch_prepared(lane& lane, batch_traits const& traits) {
  graph_template const& carrier = *prepared_.carrier;
  graph_template::shape const& shape = carrier.dimensions();
  bool const one_kernel = traits.kernel != batch_traits::no_kernel;
  if (one_kernel && shape.size >= device_updated_pool::min_nodes) {
    profile_of(traits.kernel).note_filled(carrier.is_device_updated());
  }
  bool const measured = one_kernel && !carrier.waits_on_device() &&
                        profile_of(traits.kernel).count_batch(prepared_.taken) &&
                        timer_.begin(lane.stream());
  if (!measured) { return parts_.launcher.launch(lane, traits, prepared_); }
  auto const begun = std::chrono::steady_clock::now();
  CUresult const answer = parts_.launcher.launch(lane, traits, prepared_);
  if (answer != CUDA_SUCCESS) { return answer; }
  auto const busy_lanes = static_cast<std::uint32_t>(std::popcount(
      (parts_.lanes.busy_launch_lanes() | bit_of(lane.index())) & lane_layout::launch_lane_set));
  timer_.end(lane.stream(),
             {.kernel = traits.kernel,
              .depth = (shape.size + shape.chains - 1) / shape.chains,
              .chains = busy_lanes * shape.chains,
              .completions = carrier.completions(),
              .lane = lane.index(),
              .number = prepared_.all().back()->number,
              .ahead = lane.in_flight() - prepared_.batch_count,
              .begun = begun,
              .launching = std::chrono::steady_clock::now() - begun,
              .entry = carrier.is_device_updated() ? kernel_profile::device_update_cost
                       : carrier.has_entry_node()  ? kernel_profile::entry_node_cost
                                                   : std::chrono::nanoseconds{0}});
  return answer;
}

void batcher::launch_alone(slot_address task, unsigned lane_number, flush_outcome& outcome) {
  lane& lane = parts_.lanes[lane_number];
  parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
  if (!lane.has_room()) {
    outcome.again.push_back(task);
    return;
  }
  if (CUresult const answer = parts_.launcher.launch_direct(lane, task); answer != CUDA_SUCCESS) {
    outcome.refused.push_back({task, {answer, "cuLaunchKernel"}});
    return;
  }
  lane::batch& batch = lane.begin();
  batch.tasks[batch.count++] = task;
  if (CUresult const answer = lane.commit_with_write(); answer != CUDA_SUCCESS) {
    outcome.errors.push_back(answer);
  }
  base::add(launched_);
  commit(lane, batch);
}

void batcher::commit(lane const& lane, lane::batch const& batch) {
  parts_.lanes.add(lane, batch);
  parts_.order.mark_launched({batch.tasks.data(), batch.count},
                             end_mark::of(parts_.lanes.device(), lane.index(), batch.number));
}

}  // namespace flotilla::dispatch
