// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/device_trace.hpp"

#include <algorithm>
#include <span>

namespace flotilla::dispatch {

void device_trace::note_batch(lane const& of, lane::batch const& batch, bool may_fail) noexcept {
  if (!is_looking_) {
    is_looking_ = true;
    ++look_;
    look_end_ = tracer::as_ns(of.last_end());  // lane_set::retire has just set it
  }
  lane_times& times = lanes_[of.index()];
  if (times.look != look_) { times = {look_, look_end_, times.end}; }
  std::int64_t const launched = tracer::as_ns(batch.begun);
  std::int64_t const begun = std::max(launched, times.end_before);
  std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
  if (tasks.empty()) { return; }  // a piece of a staged copy
  std::uint32_t traced = 0;
  if (batch.has_status || batch.is_chunk || may_fail) {
    for (slot_address const task : tasks) {
      traced += shared_.trace.note_batch(task, launched, begun, of.index()) ? 1 : 0;
    }
  } else {
    traced = shared_.trace.note_ends(tasks, launched, begun, look_end_, of.index());
  }
  slot const& first = shared_.tasks.at(tasks[0]);
  shared_.trace.push(record_kind::batch,
                     batch_record{.launched = launched,
                                  .begun = begun,
                                  .ended = look_end_,
                                  .tasks = batch.count,
                                  .traced = traced,
                                  .device = static_cast<std::uint16_t>(device_),
                                  .lane = static_cast<std::uint16_t>(of.index()),
                                  .kernel = first.kernel,
                                  .has_kernel = first.kind == task_kind::launch ||
                                                first.kind == task_kind::chunk});
}

void device_trace::note_drive(clock::time_point begun) noexcept {
  shared_.trace.push(record_kind::drive,
                     drive_record{.begun = tracer::as_ns(begun),
                                  .ended = tracer::now(),
                                  .device = static_cast<std::uint16_t>(device_)});
}

void device_trace::note_counters(counters const& values) noexcept {
  shared_.trace.push(record_kind::counters, counters_record{.when = tracer::now(),
                                                            .queued = values.queued,
                                                            .in_flight = values.in_flight,
                                                            .memory = values.memory,
                                                            .device = device_});
}

}  // namespace flotilla::dispatch
