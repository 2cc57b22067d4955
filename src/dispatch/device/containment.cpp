// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/containment.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/recording/replayed_part.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

bool containment::waits_for_other_lane(lane const& one, lane::batch const& batch) const {
  task_table const& tasks = parts_.shared.tasks;
  for (slot_address const task : batch.tasks.first(batch.count)) {
    for (std::size_t i = 0; i < tasks.at(task).dependencies; ++i) {
      task_key const ahead = tasks.dependency(task, i);
      if (!ahead.is_task()) { continue; }
      slot const& predecessor = tasks.at(ahead.slot);
      generation_word const word{predecessor.generation.load(std::memory_order_acquire)};
      end_mark const end{predecessor.end.load(std::memory_order_acquire)};
      bool const is_in_other_lane =
          static_cast<std::uint32_t>(word.generation()) == ahead.generation && end.valid() &&
          end.device() == parts_.lanes.device() && end.lane() != one.index();
      if (is_in_other_lane && parts_.page.number(end.lane()) < end.number()) { return true; }
    }
  }
  return false;
}

std::size_t containment::count_begun(lane const& one) const {
  // The batches of one launch are parts of one graph, whose tasks may be ahead of its numbers.
  std::size_t count = 0;
  do {
    if (waits_for_other_lane(one, one.in_flight(count))) { return 0; }
    ++count;
  } while (count < one.in_flight() && one.in_flight(count).joined);
  return count;
}

void containment::find_tasks() {
  found_.clear();
  parts_.lanes.for_each_busy([this](lane& one) {
    one.cancel();  // a piece of a staged copy, whose number is missing
    if (one.in_flight() == 0) { return; }
    // A callable has run when its batch begins, whatever its stream waits for.
    std::size_t const begun =
        lane_layout::takes_callables(one.index()) ? one.in_flight() : count_begun(one);
    for (std::size_t i = 0; i < one.in_flight(); ++i) {
      lane::batch const& batch = one.in_flight(i);
      for (slot_address const task : batch.tasks.first(batch.count)) {
        found_.push_back({task, batch.begun, i < begun});
      }
    }
  });
  // A task is launched after its predecessors, and must start again after them.
  std::stable_sort(found_.begin(), found_.end(),
                   [](in_flight const& a, in_flight const& b) { return a.begun < b.begun; });
  find_followed();
}

void containment::drop_batches() {
  parts_.lanes.for_each_busy([](lane& one) {
    one.settle();
    one.held_for = {};
  });
  parts_.lanes.retire([this](lane const&, lane::batch const& batch, auto) {
    if (batch.carrier != nullptr) { parts_.launcher.give_back(*batch.carrier); }
    parts_.grids.give_back(batch);
  });
}

bool containment::reads_device_memory(slot& task) {
  if (task.kind != task_kind::memory_op) { return true; }
  memory_op_kind const kind = held_in<detail::memory_command>(task).kind;
  return kind != memory_op_kind::host_to_device && kind != memory_op_kind::fill;
}

void containment::find_followed() {
  task_table const& tasks = parts_.shared.tasks;
  followed_.clear();
  for (in_flight const& one : found_) {
    slot const& task = tasks.at(one.task);
    generation_word const word{task.generation.load(std::memory_order_relaxed)};
    if (!one.may_have_run || !word.ends_late()) { continue; }
    for (std::size_t i = 0; i < task.dependencies; ++i) {
      task_key const ahead = tasks.dependency(one.task, i);
      if (!ahead.is_task()) { continue; }
      generation_word const now{tasks.at(ahead.slot).generation.load(std::memory_order_relaxed)};
      bool const is_there = static_cast<std::uint32_t>(now.generation()) == ahead.generation;
      if (is_there) { followed_.push_back(ahead.slot); }
    }
  }
  std::sort(followed_.begin(), followed_.end());
}

bool containment::may_start_again(in_flight const& one) const {
  slot& task = parts_.shared.tasks.at(one.task);
  // A task that follows a task of a flow may overwrite what that one reads, but not if this is
  // memory of the host.
  bool const may_repeat =
      !task.was_suspect && (!reads_device_memory(task) ||
                            !std::binary_search(followed_.begin(), followed_.end(), one.task));
  switch (task.kind) {
    case task_kind::memory_op: return !one.may_have_run || may_repeat;
    case task_kind::launch:
    case task_kind::chunk: return !one.may_have_run || (task.repeatable && may_repeat);
    case task_kind::recorded: {
      // The graph has the arguments of the last replay that changed them.
      auto const& replay = held_in<replayed_part>(task);
      return !one.may_have_run &&
             parts_.shared.recordings.get(replay.part)->version() == replay.version;
    }
    default: return false;  // the function of a callable is gone
  }
}

void containment::make_failures(lost_devices::decision what, CUresult status,
                                std::string const& reason) {
  suspect_list list;
  bool any = false;
  for (in_flight const& one : found_) {
    if (!one.may_have_run) { continue; }
    list.add(one.task, parts_.shared.text);
    any = true;
  }
  bool const is_usable = what == lost_devices::decision::replace;
  std::string const suspects = list.text();
  driver_status const code = driver::status_of(status);
  std::string text = parts_.context.subject() + " was lost: " + to_string(code) + " (" +
                     std::to_string(static_cast<int>(status)) + ")";
  if (!reason.empty()) { text += ", " + reason; }
  text += any ? ". Suspects: " + suspects + ". " : "; no task was running. ";
  text += is_usable ? "The device goes on in another worker process. "
                    : "The device is quarantined and runs no more tasks "
                      "(runtime_options::restart). ";
  auto const make = [&](bool may_have_run, char const* end) {
    return make_failure(std::make_exception_ptr(
        device_fault(code, parts_.context.where().ordinal, suspects, may_have_run, text + end)));
  };
  of_suspects_ = make(true, "This task may have run, so what it could write is undefined");
  of_others_ = make(false, "This task did not run");
}

void containment::settle_tasks(bool device_is_usable) {
  for (in_flight const& one : found_) {
    slot& task = parts_.shared.tasks.at(one.task);
    // Also for tasks that fail: those of flows may end later than their numbers are reached.
    parts_.shared.order.take_back_launch(one.task);
    if (device_is_usable && may_start_again(one)) {
      task.was_suspect = task.was_suspect || one.may_have_run;
      again_.push_back(one.task);
      continue;
    }
    std::shared_ptr<failure const> own;
    if (parts_.callables.has_failures()) { own = parts_.callables.take_failure(one.task); }
    parts_.late.end(one.task, own != nullptr     ? std::move(own)
                              : one.may_have_run ? of_suspects_
                                                 : of_others_);
  }
}

void containment::take_unlaunched() {
  parts_.staged.give_up_all(again_);
  parts_.events.give_up_early(again_);
  parts_.reporter.take_kept(again_);
}

void containment::finish(lost_devices::decision what, CUresult status, std::string const& reason) {
  bool const is_usable = what == lost_devices::decision::replace;
  again_.clear();
  find_tasks();
  make_failures(what, status, reason);
  settle_tasks(is_usable);
  take_unlaunched();
  drop_batches();
  parts_.sampler.forget();
  parts_.shared.recordings.note_loss_of(parts_.lanes.device());
  if (is_usable) {
    parts_.shared.lost.note_usable(parts_.lanes.device());
  } else {
    parts_.shared.lost.quarantine(parts_.lanes.device(), of_others_);
  }
  parts_.starter.start_first(again_);
  of_suspects_ = of_others_ = nullptr;
}

}  // namespace flotilla::dispatch
