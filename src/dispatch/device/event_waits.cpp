// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/event_waits.hpp"

#include <utility>

#include <flotilla/detail/event_command.hpp>

#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

void event_waits::add(slot_address task, std::span<end_mark const> after) {
  if (shared_.trace.active()) [[unlikely]] { shared_.trace.note_begin(task); }
  CUevent const event = held_in<detail::event_command>(shared_.tasks.at(task)).event;
  open_.push_back({.task = task, .event = event, .after = {after.begin(), after.end()}});
}

bool event_waits::poll() {
  return std::erase_if(open_, [this](wait& one) { return end_if_completed(one); }) != 0;
}

bool event_waits::end_if_completed(wait& one) {
  slot& task = shared_.tasks.at(one.task);
  if (is_cancelled(task)) [[unlikely]] {
    reporter_.cancel(one.task);
    return true;
  }
  std::erase_if(one.after, [this](end_mark mark) { return shared_.board.reached(mark); });
  if (!one.after.empty()) { return false; }
  CUresult const answer = context_.api().event_query(one.event);
  // While another thread captures a stream in global mode, the driver refuses the query.
  if (answer == CUDA_ERROR_NOT_READY || answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    return false;
  }
  if (cancelled_before_launch(task)) [[unlikely]] {
    reporter_.cancel(one.task);
  } else if (answer == CUDA_SUCCESS) {
    shared_.ends.end(one.task, nullptr);
  } else {
    reporter_.refuse(one.task, {answer, "cuEventQuery"});
  }
  return true;
}

void event_waits::give_up_early(std::vector<slot_address>& tasks) {
  std::erase_if(open_, [&](wait const& one) {
    if (one.after.empty()) { return false; }
    tasks.push_back(one.task);
    return true;
  });
}

void event_waits::fail_all(std::shared_ptr<failure const> const& why) {
  for (wait const& one : std::exchange(open_, {})) { reporter_.abandon(one.task, why); }
}

}  // namespace flotilla::dispatch
