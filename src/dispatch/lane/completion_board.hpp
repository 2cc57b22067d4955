// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The completion pages of all devices of a runtime.

#include <cuda.h>

#include <memory>
#include <vector>

#include "dispatch/lane/completion_page.hpp"
#include "dispatch/lane/end_events.hpp"
#include "dispatch/task/slot.hpp"
#include "driver/call_outcome.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

/// Tells whether a launched task has ended, and makes streams wait for the end of a task. A task's
/// mark (end_mark) consists of a lane and a completion number: the task has ended when the lane has
/// reached the number. Pages are added only while the runtime starts. Afterwards any thread may
/// call the const functions.
class completion_board {
 public:
  /// Adds the page of the next device. Call it with the device's context current.
  /// @throws driver_error, std::bad_alloc
  void add(context::context_handle const& context, unsigned lanes, std::uint64_t first_number) {
    pages_.push_back(std::make_unique<completion_page>(context, lanes, first_number));
    events_.push_back(std::make_unique<end_events>(context.api(), lanes));
    drivers_.push_back(&context.api());
  }
  /// Returns the page for writing. Only for the device that owns the page's lanes.
  [[nodiscard]] completion_page& page_of(unsigned device) noexcept { return *pages_[device]; }

  /// Returns the events of a device. Only the holder of the device's lease may change them.
  [[nodiscard]] end_events& events_of(unsigned device) const noexcept { return *events_[device]; }

  [[nodiscard]] completion_page const& page(unsigned device) const noexcept {
    return *pages_[device];
  }
  /// Returns whether the mark's lane has reached the mark's number. Cost: four loads, and a driver
  /// call if the mark has an event that was not complete before.
  [[nodiscard]] bool reached(end_mark mark) const noexcept {
    if (number(mark) >= mark.number()) { return true; }
    if (events_[mark.device()]->has_ended(mark.lane(), mark.number())) {
      pages_[mark.device()]->raise(mark.lane(), mark.number());
      return true;
    }
    return false;
  }
  /// Returns the number that the mark's lane has reached.
  [[nodiscard]] std::uint64_t number(end_mark mark) const noexcept {
    return pages_[mark.device()]->number(mark.lane());
  }
  /// Returns the event with which the mark's batch ends, or null if the device writes its number.
  [[nodiscard]] CUevent event_of(end_mark mark) const noexcept {
    return events_[mark.device()]->find(mark.lane(), mark.number());
  }
  /// Makes `stream`, which may belong to any device with the same driver, wait for the mark: for
  /// its event, if it has one, or else for its number. Most batches have no event, for two reasons.
  /// The event would have to be recorded after all work that is already in the lane's stream,
  /// perhaps while a callable captures this stream. And an event costs more. In a chain of tasks
  /// that alternates between two devices with one thread each, recording an event and waiting for
  /// it take 2.8 us; the wait for a number takes 1.4 us.
  [[nodiscard]] driver::call_outcome enqueue_wait(CUstream stream, end_mark mark) const noexcept {
    driver::table const& api = *drivers_[mark.device()];
    if (CUevent const event = event_of(mark)) {
      return {api.stream_wait_event(stream, event, CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent"};
    }
    CUdeviceptr const address = pages_[mark.device()]->device_address(mark.lane());
    return {api.stream_wait_value_64(stream, address, mark.number(), CU_STREAM_WAIT_VALUE_GEQ),
            "cuStreamWaitValue64"};
  }
  /// Stops the spin kernels of all devices.
  void stop_all() const noexcept {
    for (auto const& page : pages_) { page->stop(); }
  }

 private:
  std::vector<driver::table const*> drivers_;  // by device
  std::vector<std::unique_ptr<completion_page>> pages_;
  std::vector<std::unique_ptr<end_events>> events_;
};

}  // namespace flotilla::dispatch
