// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/replayer.hpp"

#include <optional>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "context/kernel_waits.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/recording/replayed_part.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/trace/nvtx_range.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

std::shared_ptr<recorded_part> replayer::build(planned_part const& plan, change_list const& actions,
                                               std::shared_ptr<replay_group> group,
                                               std::uint32_t number_in_group,
                                               CUstream memory_stream) {
  if (group != nullptr) { check_exchanges(*group); }
  auto part = std::make_shared<recorded_part>(
      parts_.context,
      recorded_part::build_args{plan, actions, parts_.shared.kernels, parts_.limits,
                                parts_.lanes[0].counter(), parts_.launcher.functions(),
                                parts_.launcher.slabs(), parts_.page, memory_stream,
                                [&profiles = parts_.profiles](std::uint32_t kernel) {
                                  return profiles.of(kernel).kernel_ns();
                                },
                                std::move(group), number_in_group});
  // Upload the graph now to save time in the first replay. If the device has no memory for the
  // graph, the first launch will report the error.
  parts_.reporter.note(part->upload(memory_stream));
  return part;
}

unsigned replayer::find_lane(priority_level level, std::span<end_mark const> waits,
                             bool exchanges) const {
  if (!parts_.lanes.has_room(level)) { return lane_layout::no_lane; }
  // Prefer the lane of a predecessor, because a stream keeps the order at no cost. That lane may
  // have an open batch, so the lane must have room for the open batch and the replay. But a part
  // that others wait for must not be behind other work.
  lane_range const range = lane_layout::launch_lanes_of(level);
  unsigned found = lane_layout::no_lane;
  for (end_mark const mark : waits) {
    bool const is_of_device = mark.device() == parts_.lanes.device() && range.contains(mark.lane());
    bool const here = is_of_device && (!exchanges || is_last(mark));
    if (here && parts_.lanes[mark.lane()].has_room(1 + open_waves::max_batches_of_flush)) {
      found = mark.lane();
    }
  }
  if (found != lane_layout::no_lane) { return found; }
  return parts_.lanes.find_lane({.level = level,
                                 .lanes = parts_.lanes.launch_lanes(),
                                 .excluded = parts_.waves.lanes(),
                                 .after = parts_.places.last(level)});
}

bool replayer::start(slot_address task, std::span<end_mark const> waits) {
  slot& one = parts_.shared.tasks.at(task);
  replayed_part& replay = held_in<replayed_part>(one);
  auto const part = parts_.shared.recordings.get(replay.part);
  replay_group* const group = part->group();
  unsigned const number = find_lane(one.level, waits, group != nullptr);
  if (number == lane_layout::no_lane) { return false; }
  if (group != nullptr) {
    if (auto why = group->failure_of(replay.replay)) [[unlikely]] {
      parts_.reporter.fail_dependent(task, std::move(why));
      return true;
    }
  }
  std::optional<launch_turn> turn;
  if (group != nullptr && !group->has_handled(part->number_in_group(), replay.replay)) {
    bool const may_enter = std::chrono::steady_clock::now() >= passes_until_;
    if (may_enter) { turn = parts_.shared.turns.enter(*group, replay.replay); }
    if (!turn) {
      out_of_turn_.push_back(task);
      return true;
    }
  }
  lane& lane = parts_.lanes[number];
  if (cancelled_before_launch(one)) [[unlikely]] {  // only a replay with a deadline
    parts_.reporter.cancel(task);
    return true;
  }
  if (auto const answer = parts_.lanes.enqueue_waits(lane, waits); !answer.ok()) {
    parts_.reporter.refuse(task, answer);
    return true;
  }
  if (auto const refused = part->rewrite(replay.changes); !refused.why.ok()) {
    refuse(task, *part, refused);
    return true;
  }
  nvtx_range const range{[&] { return parts_.reporter.describe(task); }};
  lane::batch& batch = lane.begin();
  if (auto const answer = part->enqueue(lane, batch.number, replay.replay); !answer.ok()) {
    lane.cancel();
    parts_.reporter.refuse(task, answer);  // keeps changes for the next replay
    return true;
  }
  if (replay.changes != change_lists::none) {
    part->lists.give_back(std::exchange(replay.changes, change_lists::none));
  }
  replay.version = part->version();
  batch.tasks[batch.count++] = task;
  batch.exchanges = group != nullptr;
  lane.commit();
  if (turn) {
    parts_.shared.turns.handled(*group, part->number_in_group(), replay.replay);
    lane.held_for = *turn;
  }
  parts_.lanes.add(lane, batch);
  parts_.shared.order.mark_launched(
      {&task, 1}, end_mark::of(parts_.lanes.device(), lane.index(), batch.number));
  return true;
}

void replayer::note_end(slot_address task) const {
  replayed_part const& replay = held_in<replayed_part>(parts_.shared.tasks.at(task));
  auto const part = parts_.shared.recordings.get(replay.part);
  part->group()->note_end(part->number_in_group(), replay.replay);
}

bool replayer::is_last(end_mark mark) const {
  bool const is_open = (parts_.waves.lanes() >> mark.lane() & 1) != 0;
  return !is_open && parts_.lanes[mark.lane()].last_number() == mark.number();
}

void replayer::check_exchanges(replay_group const& group) const {
  if (group.parts() > graph_exchanges::max_parts) {
    throw invalid_argument("a recording cannot use more than " +
                           std::to_string(graph_exchanges::max_parts) + " devices, but uses " +
                           std::to_string(group.parts()));
  }
  if (parts_.context.where().kind == device_kind::cpu) { return; }
  bool const is_on = context::kernels_may_wait(parts_.context.asked());
  bool const has_kernel = parts_.launcher.functions().exchange != nullptr;
  if (is_on && has_kernel && !ends_long_kernels(parts_.context)) { return; }
  throw invalid_argument(
      "a recording over several devices cannot use " + parts_.context.subject() + ", because " +
      (context::launches_block()
           ? "the environment variable CUDA_LAUNCH_BLOCKING makes each launch wait for its end"
       : !is_on     ? "the setting device_side_waits = false forbids kernels that wait for another "
                      "device"
       : has_kernel ? "it has a display, so its driver ends kernels that wait for seconds"
                    : "flotilla's own kernels could not be loaded there") +
      "; make a recording for each device, and order their replays with replay_options::after");
}

void replayer::refuse(slot_address task, recorded_part const& part,
                      recorded_part::refusal const& refused) {
  parts_.reporter.note(refused.why.status);
  driver_status const status = driver::status_of(refused.why.status);
  if (is_sticky(status)) {  // poisoned: every open task counts as ended
    if (parts_.reporter.is_device_lost()) { parts_.reporter.keep(task); }
    return;
  }
  std::exception_ptr error = refused.error;
  if (error == nullptr) {
    error = std::make_exception_ptr(driver_error(
        status, refused.why.call,
        part.describe_kernel(refused.kernel) + " in " + parts_.reporter.describe(task)));
  }
  parts_.reporter.abandon(task, make_failure(std::move(error)));
}

}  // namespace flotilla::dispatch
