// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/batch_flusher.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "dispatch/batching/launch_begin.hpp"
#include "dispatch/batching/unended_predecessors.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/trace/nvtx_range.hpp"

namespace flotilla::dispatch {

void move_lanes_to_marks(open_batch& batch, lane_set const& lanes) {
  for (std::uint64_t left = batch.lanes_before; left != 0; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    unended_predecessors::add_mark(batch.marks,
                                   end_mark::of(lanes.device(), lane, lanes[lane].last_number()));
  }
  batch.lanes_before = 0;
}

batch_flusher::batch_flusher(parts const& with)
    : parts_(with),
      run_({with.tasks, with.lanes, with.waves, with.grid_rules, with.profiles,
            with.ordered_grids}) {}

void batch_flusher::flush_wave(unsigned wave, flush_outcome& outcome) {
  while (std::uint64_t const open = outcome.lost ? 0 : parts_.waves.lanes(wave)) {
    // The urgent lanes have the greatest numbers.
    launch_open({wave, static_cast<unsigned>(std::bit_width(open)) - 1}, outcome);
  }
}

void batch_flusher::start_again(std::span<slot_address const> tasks, flush_outcome& outcome) {
  for (slot_address const task : tasks) {
    slot& one = parts_.tasks.at(task);
    one.batched.store(0, std::memory_order_relaxed);
    give_up_launch(one);
    outcome.again.push_back(task);
  }
}

void batch_flusher::abandon_waves_after(unsigned wave, flush_outcome& outcome) {
  outcome.abandoned_after = std::min(wave, outcome.abandoned_after.value_or(wave));
  for (unsigned later = wave + 1; later < parts_.waves.count(); ++later) {
    for (std::uint64_t open = parts_.waves.lanes(later); open != 0; open &= open - 1) {
      open_batch& batch = parts_.waves.at({later, static_cast<unsigned>(std::countr_zero(open))});
      start_again({batch.tasks.data(), batch.count}, outcome);
    }
  }
  parts_.waves.close_after(wave);
}

driver::call_outcome batch_flusher::enqueue_waits(lane& lane, open_batch& batch) {
  batch.lanes_before &= ~open_waves::bit_of(lane.index());
  move_lanes_to_marks(batch, parts_.lanes);
  return parts_.lanes.enqueue_waits(lane, batch.marks, batch.traits.device_wait);
}

void batch_flusher::remove_cancelled(batch_place where, flush_outcome& outcome) {
  open_batch& batch = parts_.waves.at(where);
  std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
  parts_.waves.close(where);
  for (slot_address const& task : tasks) {
    if (is_cancelled(parts_.tasks.at(task))) {
      // Another thread may be about to end the task. Until then, its successors find it open, but
      // must not find it in this batch.
      parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
      outcome.cancelled.push_back(task);
    } else {
      start_again({&task, 1}, outcome);
    }
  }
  abandon_waves_after(where.wave, outcome);
}

std::string batch_flusher::text_of(std::span<slot_address const> tasks) const {
  slot const& first = parts_.tasks.at(tasks[0]);
  std::string text = first.labelled ? parts_.tasks.side(tasks[0]).label.data()
                                    : parts_.kernels.kernels[first.kernel].name;
  if (tasks.size() > 1) { text += " and " + std::to_string(tasks.size() - 1) + " more"; }
  return text;
}

void batch_flusher::launch_open(batch_place where, flush_outcome& outcome) {
  open_batch& batch = parts_.waves.at(where);
  lane& lane = parts_.lanes[where.lane];
  std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
  nvtx_range const range{[&] { return text_of(tasks); }};
  if (begin_launches(parts_.tasks, tasks)) [[unlikely]] { return remove_cancelled(where, outcome); }
  // Without room nothing may enter the stream, not even a wait (lane::has_room).
  bool const has_room = lane.has_room();
  driver::call_outcome const waited =
      has_room ? enqueue_waits(lane, batch) : driver::call_outcome{};
  bool const as_grids = has_room && waited.ok() && batch.traits.grids && !batch.traits.ordered &&
                        !batch.traits.one_by_one;
  if (as_grids) {
    run_.find(where);
  } else {
    run_.begin(where);
  }
  batch_traits traits = run_.close();
  traits.prompt = parts_.lanes.is_prompt() && parts_.waves.device_waits() == 0;
  bool launched = false;
  if (!has_room) {
    start_again(tasks, outcome);
  } else if (!waited.ok()) {
    for (slot_address const task : tasks) {
      parts_.tasks.at(task).batched.store(0, std::memory_order_relaxed);
      outcome.refused.push_back({task, waited});
    }
  } else if (as_grids && !goes_as_graph(tasks)) {
    launched = launch_run(lane, traits, outcome);
  } else {
    launched = launch_tasks(lane, tasks, traits, outcome);
  }
  if (launched) { parts_.waves.note_launched({run_.last_wave(), where.lane}, lane.last_number()); }
  // Tasks of later waves may depend on a task that was not launched, also those that are in a wave
  // of the run, but in another lane.
  if (!launched && !outcome.lost) { abandon_waves_after(where.wave, outcome); }
}

}  // namespace flotilla::dispatch
