// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How the batch_flusher launches the tasks of one batch: as a graph, as a grid, or one by one.
#include <algorithm>
#include <bit>
#include <utility>

#include <flotilla/error/driver_status.hpp>

#include "base/single_writer.hpp"
#include "dispatch/batching/batch_flusher.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// A grid costs the host as much as two kernel launches, and a graph of one node as much as one.
constexpr std::size_t min_tasks_of_grid = 2;

}  // namespace

bool batch_flusher::launch_tasks(lane& lane, std::span<slot_address const> tasks,
                                 batch_traits traits, flush_outcome& outcome) {
  if (traits.one_by_one) { return launch_one_by_one(lane.index(), tasks, outcome); }
  bool all_launched = true;
  while (!tasks.empty()) {
    bool refused = false;
    if (lane.has_room(open_waves::max_batches_of_flush)) {
      std::size_t const grid = !traits.one_grid || traits.ordered ? 0
                               : traits.one_form                  ? tasks.size()
                                                 : parts_.grids.count_of_grid(tasks);
      tasks = tasks.subspan(grid >= min_tasks_of_grid
                                ? launch_grid(lane, tasks.first(grid), traits, outcome, refused)
                                : launch_first(lane, tasks.first(grid == 0 ? tasks.size() : grid),
                                               traits, outcome, refused));
      if (outcome.lost) { return false; }
      // The other graphs of this flush run after the first graph in the same stream, so only the
      // first graph needs the wait.
      traits.device_wait = {};
      if (!refused) { continue; }
      all_launched = false;
      if (!traits.ordered) { continue; }
    }
    // The remaining tasks may depend on a refused task, or the lane has no room for them.
    start_again(tasks, outcome);
    return false;
  }
  return all_launched;
}

std::size_t batch_flusher::launch_first(lane& lane, std::span<slot_address const> tasks,
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

CUresult batch_flusher::launch_prepared(lane& lane, batch_traits const& traits) {
  graph_template const& carrier = *prepared_.carrier;
  graph_template::shape const& shape = carrier.dimensions();
  bool const one_kernel = traits.kernel != batch_traits::no_kernel;
  if (one_kernel && shape.size >= device_updated_pool::min_nodes) {
    parts_.profiles.of(traits.kernel).note_filled(carrier.is_device_updated());
  }
  auto const launch = [&] { return parts_.launcher.launch(lane, traits, prepared_); };
  if (!one_kernel || carrier.waits_on_device()) { return launch(); }
  return measured(lane, traits.kernel, prepared_.taken, launch, [&](kernel_timer::sample& sample) {
    sample.depth = (shape.size + shape.chains - 1) / shape.chains;
    sample.chains *= shape.chains;
    sample.completions = carrier.completions();
    sample.number = prepared_.all().back()->number;
    sample.ahead = lane.in_flight() - prepared_.batch_count;
    sample.entry = carrier.is_device_updated() ? kernel_profile::device_update_cost
                   : carrier.has_entry_node()  ? kernel_profile::entry_node_cost
                                               : std::chrono::nanoseconds{0};
  });
}

template <class Launch, class Describe>
CUresult batch_flusher::measured(lane& lane, std::uint32_t kernel, std::uint32_t tasks,
                                 Launch const& launch, Describe const& describe) {
  if (!parts_.profiles.of(kernel).count_batch(tasks) || !timer_.begin(lane.stream())) {
    return launch();
  }
  auto const begun = std::chrono::steady_clock::now();
  CUresult const answer = launch();
  if (answer != CUDA_SUCCESS) { return answer; }
  kernel_timer::sample sample{};
  sample.kernel = kernel;
  sample.chains = static_cast<std::uint32_t>(
      std::popcount((parts_.lanes.busy_launch_lanes() | open_waves::bit_of(lane.index())) &
                    lane_layout::launch_lane_set));
  sample.lane = lane.index();
  sample.begun = begun;
  sample.launching = std::chrono::steady_clock::now() - begun;
  describe(sample);
  timer_.end(lane.stream(), sample);
  return answer;
}

std::size_t batch_flusher::launch_grid(lane& lane, std::span<slot_address const> tasks,
                                       batch_traits const& traits, flush_outcome& outcome,
                                       bool& refused) {
  grid_launcher::outcome made;
  auto const launch = [&] {
    made = parts_.grids.launch(lane, tasks, traits);
    return made.launched;
  };
  auto const count = static_cast<std::uint32_t>(tasks.size());
  CUresult const answer =
      measured(lane, traits.kernel, count, launch, [&](kernel_timer::sample& sample) {
        sample.depth = 1;
        // A CPU device runs the tasks one after another.
        sample.chains = runs_in_turn_ ? count : sample.chains;
        sample.completions = 1;
        sample.number = made.batch->number;
        sample.ahead = lane.in_flight() - 1;
      });
  if (answer == CUDA_SUCCESS) {
    if (made.completed != CUDA_SUCCESS) { outcome.errors.push_back(made.completed); }
    base::add(launched_);
    commit(lane, *made.batch);
    return tasks.size();
  }
  // Each task is launched alone, so that each gets its own status.
  refused = true;
  outcome.lost = outcome.lost || is_sticky(driver::status_of(answer));
  outcome.errors.push_back(answer);
  for (slot_address const task : tasks) {
    parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
    outcome.alone.push_back(task);
  }
  return tasks.size();
}

bool batch_flusher::launch_one_by_one(unsigned lane_number, std::span<slot_address const> tasks,
                                      flush_outcome& outcome) {
  lane& lane = parts_.lanes[lane_number];
  for (slot_address const task : tasks) {
    parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
  }
  if (!lane.has_room()) {
    start_again(tasks, outcome);
    return false;
  }
  lane::batch& batch = lane.begin();
  CUresult answer = CUDA_SUCCESS;
  while (batch.count < tasks.size() && answer == CUDA_SUCCESS) {
    slot_address const task = tasks[batch.count];
    answer = parts_.launcher.launch_direct(lane, batch, task);
    if (answer == CUDA_SUCCESS) { batch.tasks[batch.count++] = task; }
  }
  std::span<slot_address const> const left = tasks.subspan(batch.count);
  if (batch.count == 0) {
    lane.cancel();
  } else {
    if (CUresult const written = lane.commit_with_write(); written != CUDA_SUCCESS) {
      outcome.errors.push_back(written);
    }
    base::add(launched_, batch.count);
    commit(lane, batch);
  }
  if (left.empty()) { return true; }
  outcome.refused.push_back({left[0], {answer, parts_.launcher.direct_entry(left[0])}});
  outcome.lost = outcome.lost || is_sticky(driver::status_of(answer));
  start_again(left.subspan(1), outcome);  // they may depend on the refused task
  return false;
}

void batch_flusher::commit(lane const& lane, lane::batch const& batch) {
  parts_.lanes.add(lane, batch);
  // Whether this task fails is known only when it ends. Until then its successors must not start,
  // so it does not count as launched.
  if (batch.has_status) { return; }
  parts_.order.mark_launched({batch.tasks.data(), batch.count},
                             end_mark::of(parts_.lanes.device(), lane.index(), batch.number));
}

}  // namespace flotilla::dispatch
