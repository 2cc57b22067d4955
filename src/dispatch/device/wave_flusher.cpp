// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/wave_flusher.hpp"

#include <algorithm>
#include <bit>

#include <flotilla/error/driver_status.hpp>

#include "dispatch/device/joint_pass.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/trace/nvtx_range.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void wave_flusher::flush(batch_place where) {
  if (joint_ != nullptr) {
    joint_->flush_before(where.wave, parts_.device);
    prepare_wave(where.wave);
  } else {
    for (unsigned wave = 0; wave < where.wave; ++wave) { flush_wave(wave); }
  }
  outcome_.clear();
  parts_.flusher.flush(where, outcome_);
  finish_flush();
  std::optional<unsigned> const after = outcome_.lost ? where.wave : outcome_.abandoned_after;
  if (joint_ != nullptr && after) { joint_->abandon_waves_after(*after, parts_.device); }
}

void wave_flusher::prepare_wave(unsigned wave) {
  for (std::uint64_t left = parts_.waves.lanes(wave); left != 0; left &= left - 1) {
    batch_place const where{wave, static_cast<unsigned>(std::countr_zero(left))};
    add_marks_elsewhere(parts_.waves.at(where));
    choose_device_wait(where);
  }
}

void wave_flusher::add_marks_elsewhere(open_batch& batch) const {
  for (place_elsewhere const& ahead : batch.before_elsewhere) {
    std::uint64_t const number = (*joint_waves_)[ahead.device].waves->number(ahead.place);
    unended_predecessors::add_mark(batch.marks,
                                   end_mark::of(ahead.device, ahead.place.lane, number));
  }
  batch.before_elsewhere.clear();
}

void wave_flusher::choose_device_wait(batch_place where) {
  open_batch const& batch = parts_.waves.at(where);
  // A batch without a graph has no place for a spin kernel.
  bool const waits_in_stream =
      !any_elsewhere(batch.marks, parts_.device) || batch.traits.one_by_one;
  if (waits_in_stream || batch.traits.device_wait.valid()) { return; }
  std::uint32_t const kernel = parts_.shared.tasks.at(batch.tasks[0]).kernel;
  parts_.waves.wait_on_device(where, parts_.device_waits.choose_in_turn(
                                         batch.marks, parts_.profiles.of(kernel), where.lane));
}

void wave_flusher::add_marks_before_run(unsigned first_wave, std::vector<end_mark>& marks) {
  batch_place const first = parts_.part.run().batches().front();
  open_batch& batch = parts_.waves.at(first);
  // The grid waits for the others itself.
  std::erase_if(batch.before_elsewhere, [first_wave](place_elsewhere const& ahead) {
    return ahead.place.wave >= first_wave;
  });
  add_marks_elsewhere(batch);
  parts_.part.move_lanes_to_marks(batch);
  for (end_mark const mark : batch.marks) { unended_predecessors::add_mark(marks, mark); }
}

bool wave_flusher::prepare_joint(ordered_parts const& others, std::span<end_mark const> marks) {
  batch_place const first = parts_.part.run().batches().front();
  parts_.waves.at(first).marks.assign(marks.begin(), marks.end());
  choose_device_wait(first);
  outcome_.clear();
  bool const prepared = parts_.part.prepare(others, outcome_);
  finish_flush();
  return prepared;
}

bool wave_flusher::start_joint() {
  outcome_.clear();
  bool const started = parts_.part.start(outcome_);
  finish_flush();
  return started;
}

void wave_flusher::commit_joint(std::uint64_t id, bool runs) {
  outcome_.clear();
  parts_.part.commit(id, runs, outcome_);
  finish_flush();
}

void wave_flusher::abandon_joint() {
  outcome_.clear();
  parts_.part.abandon(outcome_);
  finish_flush();
}

std::optional<unsigned> wave_flusher::flush_wave(unsigned wave) {
  if (parts_.waves.lanes(wave) == 0) { return std::nullopt; }
  outcome_.clear();
  parts_.flusher.flush_wave(wave, outcome_);
  finish_flush();
  // Tasks of other devices must not follow tasks that were lost.
  if (outcome_.lost) { return wave; }
  return outcome_.abandoned_after;
}

void wave_flusher::abandon_waves_after(unsigned wave) {
  outcome_.clear();
  parts_.flusher.abandon_waves_after(wave, outcome_);
  finish_flush();
}

void wave_flusher::take_open(std::vector<slot_address>& tasks) {
  parts_.waves.visit([&](batch_place where) {
    open_batch const& batch = parts_.waves.at(where);
    tasks.insert(tasks.end(), batch.tasks.begin(), batch.tasks.begin() + batch.count);
  });
  parts_.waves.close_all();
  tasks.insert(tasks.end(), alone_.begin(), alone_.end());
  alone_.clear();
}

void wave_flusher::launch_alone(slot_address task, unsigned lane) {
  if (cancelled_before_launch(parts_.shared.tasks.at(task))) [[unlikely]] {
    return parts_.reporter.cancel(task);
  }
  nvtx_range const range{[&] { return parts_.reporter.describe(task); }};
  outcome_.clear();
  parts_.batches.note_alone(parts_.shared.tasks.at(task), lane);
  parts_.flusher.launch_one_by_one(lane, {&task, 1}, outcome_);
  finish_flush();
}

void wave_flusher::finish_flush() {
  for (CUresult const error : outcome_.errors) { parts_.reporter.note(error); }
  for (flush_outcome::refusal const& each : outcome_.refused) {
    bool const is_copy = parts_.shared.tasks.at(each.task).kind == task_kind::memory_op;
    if (is_copy && !is_sticky(driver::status_of(each.why.status))) {
      alone_.push_back(each.task);  // a copy engine may be able to do it
    } else {
      parts_.reporter.refuse(each.task, each.why);
    }
  }
  if (parts_.reporter.is_device_lost()) [[unlikely]] {
    for (slot_address const task : outcome_.unlaunched) { parts_.reporter.keep(task); }
  }
  for (slot_address const task : outcome_.cancelled) { parts_.reporter.cancel(task); }
  // `task_starter::start_followers` takes tasks from the back of both lists, so insert the tasks in
  // reverse order.
  alone_.insert(alone_.end(), outcome_.alone.rbegin(), outcome_.alone.rend());
  std::vector<slot_address>& runnable = parts_.batches.runnable();
  runnable.insert(runnable.end(), outcome_.again.rbegin(), outcome_.again.rend());
}

}  // namespace flotilla::dispatch
