// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How the batch_flusher launches the tasks of one batch: as a graph, as a grid, or one by one.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <flotilla/error/driver_status.hpp>

#include "base/single_writer.hpp"
#include "dispatch/batching/batch_flusher.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

bool batch_flusher::launch_tasks(lane& lane, std::span<slot_address const> tasks,
                                 batch_traits traits, flush_outcome& outcome) {
  if (traits.one_by_one) { return launch_one_by_one(lane.index(), tasks, outcome); }
  bool all_launched = true;
  while (!tasks.empty()) {
    bool refused = false;
    if (lane.has_room(open_waves::max_batches_of_flush)) {
      tasks = tasks.subspan(launch_first(lane, tasks, traits, outcome, refused));
      if (outcome.lost) {
        leave_unlaunched(tasks, outcome);
        return false;
      }
      // The other graphs of this flush run after the first graph in the same stream, so only the
      // first graph needs the wait.
      if (!refused) {
        traits.device_wait = {};
        continue;
      }
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
  if (prepared_.carrier == nullptr) {
    note_error(prepared_.status);
    outcome.errors.push_back(prepared_.status);
    launch_alone(tasks.first(1), outcome);
    return 1;
  }
  if (CUresult const answer = launch_prepared(lane, traits); answer == CUDA_SUCCESS) {
    base::add(launched_);
    for (lane::batch const* const part : prepared_.all()) {
      note_kernels(*part);
      commit(lane, *part);
    }
  } else {
    refused = true;
    if (prepared_.intact) {  // if it is not intact, the launcher did not call the driver
      note_error(answer);
      outcome.errors.push_back(answer);
    }
    for (lane::batch const* const part : prepared_.all()) {
      launch_alone({part->tasks.data(), part->count}, outcome);
    }
  }
  for (prepared_batch::refusal const& each : prepared_.refused) {
    // If the device is lost, the task starts again later. Meanwhile no task may look for it in an
    // open batch.
    parts_.tasks.at(each.task).batched.store(0, std::memory_order_relaxed);
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
  auto const launch = [&] { return parts_.launcher.launch(lane, traits, prepared_); };
  if (!one_kernel || carrier.waits_on_device()) { return launch(); }
  return parts_.sampler.measured(
      lane, traits.kernel, prepared_.taken, launch, [&](kernel_timer::sample& sample) {
        sample.depth = (shape.size + shape.chains - 1) / shape.chains;
        sample.chains *= shape.chains;
        sample.completions = carrier.completions();
        sample.number = prepared_.all().back()->number;
        sample.ahead = lane.in_flight() - prepared_.batch_count;
        sample.entry = carrier.has_entry_node() ? kernel_profile::entry_node_cost
                                                : std::chrono::nanoseconds{0};
      });
}

void batch_flusher::leave_unlaunched(std::span<slot_address const> tasks, flush_outcome& outcome) {
  for (slot_address const task : tasks) {
    parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
    outcome.unlaunched.push_back(task);
  }
}

void batch_flusher::launch_alone(std::span<slot_address const> tasks, flush_outcome& outcome) {
  for (slot_address const task : tasks) {
    parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
    outcome.alone.push_back(task);
  }
}

bool batch_flusher::launch_run(lane& lane, batch_traits const& traits, flush_outcome& outcome) {
  if (run_.is_ordered() && lane.has_room(run_.waves()) && parts_.ordered.begin()) {
    return launch_ordered(lane, traits, outcome);
  }
  bool launched = run_.groups().groups().empty() || launch_groups(lane, traits, outcome);
  if (outcome.lost) {
    leave_unlaunched(run_.groups().others(), outcome);
  } else if (!run_.groups().others().empty()) {
    launched = launch_tasks(lane, run_.groups().others(), traits, outcome) && launched;
  }
  return launched;
}

bool batch_flusher::launch_groups(lane& lane, batch_traits const& traits, flush_outcome& outcome) {
  std::span<grid_groups::group const> const groups = run_.groups().groups();
  std::uint32_t tasks = 0;
  bool all_short = true;
  for (grid_groups::group const& each : groups) {
    tasks += static_cast<std::uint32_t>(each.size());
    all_short = all_short &&
                parts_.profiles.of(parts_.tasks.at(each[0]).kernel).kernel_ns() < short_kernel_ns;
  }
  if (!lane.has_room()) {
    for (grid_groups::group const& each : groups) { start_again(each, outcome); }
    return false;
  }
  // Short kernels take less time one after another than in a graph with several branches.
  bool const side_by_side = run_.waves() == 1 && groups.size() > 1 && !all_short &&
                            groups.size() <= grid_launcher::max_side_by_side;
  auto const how = side_by_side ? grid_launcher::arrangement::side_by_side
                                : grid_launcher::arrangement::one_after_another;
  grid_launcher::outcome made;
  auto const launch = [&] {
    made = parts_.grids.launch(lane, groups, how, traits);
    return made.status;
  };
  auto const describe = [&](kernel_timer::sample& sample) {
    sample.depth = made.depth;
    sample.entry = std::chrono::nanoseconds{made.other_ns};
    if (parts_.sampler.runs_in_turn()) {  // the tasks run one after another
      sample.depth = static_cast<std::uint32_t>(groups.size());
      sample.chains = std::max(1u, tasks / sample.depth);
    }
    sample.waves = run_.was_chosen() ? static_cast<std::uint32_t>(run_.waves()) : 0;
    sample.completions = 1;
    sample.number = made.batch->number;
    sample.ahead = lane.in_flight() - 1;
  };
  CUresult const answer =
      traits.kernel == batch_traits::no_kernel || side_by_side || traits.device_wait.valid()
          ? launch()
          : parts_.sampler.measured(lane, traits.kernel, tasks, launch, describe);
  if (answer != CUDA_SUCCESS) {
    refuse_groups(answer, outcome);
    return false;
  }
  base::add(launched_);
  for (grid_groups::group const& each : groups) {
    parts_.profiles.note_launched(parts_.tasks.at(each[0]).kernel, made.batch->begun);
  }
  commit(lane, *made.batch);
  return true;
}

static_assert(open_waves::max_waves <= ordered_launcher::max_waves);

bool batch_flusher::launch_ordered(lane& lane, batch_traits const& traits, flush_outcome& outcome) {
  grid_order& order = run_.order();
  auto const tasks = static_cast<std::uint32_t>(order.tasks().size());
  auto const launch = [&] {
    ordered_part const own{&order, &parts_.ordered.words()};
    order.set_ends(own.words->launches);
    CUresult const answer = parts_.ordered.prepare(lane, own, {}, traits);
    return answer == CUDA_SUCCESS ? parts_.ordered.start() : answer;
  };
  auto const describe = [&](kernel_timer::sample& sample) {
    sample.depth = order.waves();
    if (parts_.sampler.runs_in_turn()) { sample.chains = std::max(1u, tasks / sample.depth); }
    sample.ordered = true;
    sample.waves = run_.was_chosen() ? order.waves() : 0;
    sample.completions = 1;
    sample.number = lane.last_number() + order.waves();
    sample.ahead = lane.in_flight() - order.waves();
  };
  CUresult const answer = parts_.sampler.measured(lane, traits.kernel, tasks, launch, describe);
  if (answer != CUDA_SUCCESS) {
    refuse_groups(answer, outcome);
    return false;
  }
  note_ordered(run_.batches(), traits.kernel, parts_.ordered.commit());
  return true;
}

void batch_flusher::note_ordered(std::span<batch_place const> places, std::uint32_t kernel,
                                 std::span<lane::batch* const> batches) {
  base::add(launched_);
  parts_.profiles.note_launched(kernel, batches.front()->begun);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    parts_.waves.note_launched(places[i], batches[i]->number);
    commit(parts_.lanes[places[i].lane], *batches[i]);
  }
}

void batch_flusher::refuse_groups(CUresult status, flush_outcome& outcome) {
  outcome.lost = outcome.lost || is_sticky(driver::status_of(status));
  outcome.errors.push_back(status);
  std::span<grid_groups::group const> const groups = run_.groups().groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // Tasks of later waves may depend on tasks of the first wave.
    i < run_.groups_of_first_wave() ? launch_alone(groups[i], outcome)
                                    : start_again(groups[i], outcome);
  }
}

CUresult batch_flusher::launch_measured(lane& lane, lane::batch& batch, slot_address task) {
  auto const launch = [&] { return parts_.launcher.launch_direct(lane, batch, task); };
  slot const& one = parts_.tasks.at(task);
  // Other launches go alone because the driver has refused their batch, or the user wants it.
  if (!one.batch || one.attributed || !parts_.filling.is_last(lane.index())) { return launch(); }
  return parts_.sampler.measured(lane, one.kernel, 1, launch, [&](kernel_timer::sample& sample) {
    sample.depth = sample.completions = 1;
    sample.number = batch.number;
    sample.ahead = lane.in_flight() - 1;
  });
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
    answer = tasks.size() == 1 ? launch_measured(lane, batch, task)
                               : parts_.launcher.launch_direct(lane, batch, task);
    if (answer == CUDA_SUCCESS) { batch.tasks[batch.count++] = task; }
  }
  std::span<slot_address const> const left = tasks.subspan(batch.count);
  if (batch.count == 0) {
    lane.cancel();
  } else {
    CUresult const written =
        tasks.size() == 1 ? parts_.filling.commit(lane, batch.number) : lane.commit_with_write();
    if (written != CUDA_SUCCESS) { outcome.errors.push_back(written); }
    base::add(launched_, batch.count);
    note_kernels(batch);
    commit(lane, batch);
  }
  if (left.empty()) { return true; }
  outcome.refused.push_back({left[0], {answer, parts_.launcher.direct_entry(left[0])}});
  outcome.lost = outcome.lost || is_sticky(driver::status_of(answer));
  start_again(left.subspan(1), outcome);  // they may depend on the refused task
  return false;
}

void batch_flusher::note_kernels(lane::batch const& batch) {
  std::optional<std::uint32_t> noted;  // tasks of one kernel mostly follow each other
  for (slot_address const task : batch.tasks.first(batch.count)) {
    slot const& one = parts_.tasks.at(task);
    if (one.kind != task_kind::launch || noted == one.kernel) { continue; }
    noted = one.kernel;
    parts_.profiles.note_launched(one.kernel, batch.begun);
  }
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
