// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/waiter.hpp"

#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {

bool waiter::sleep_until_ended(task_id id) const {
  // In single-threaded mode, no other thread drains the devices. So this thread must not sleep
  // while work is pending.
  if (parts_.shared.single_threaded && parts_.devices.work_pending()) { return false; }
  end_mark const end{parts_.shared.tasks.at(id.slot).end.load(std::memory_order_acquire)};
  if (!end.valid() || lane_layout::takes_callables(end.lane())) { return false; }
  if (parts_.query.has_ended(id)) { return true; }
  device_driver& device = parts_.devices[end.device()];
  std::optional<slow_waits::sleep> looked_at;
  if (parts_.shared.long_waits.is_active()) {
    parts_.shared.overdue.start_thread();
    looked_at.emplace(parts_.shared.long_waits, id.slot);
  }
  parts_.shared.faults.note(device.lanes().sleep_until_done(end.lane()), end.device());
  // The task may still be open, because the driver may have refused the wait or the completion
  // write. If so, return false. The caller must not call this function again at once, because that
  // would be a busy loop.
  return parts_.query.has_ended(id);
}

}  // namespace flotilla::dispatch
