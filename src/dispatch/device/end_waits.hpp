// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks that wait on the host for the end of a launched task of another device.

#include <algorithm>
#include <utility>
#include <vector>

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// If one of two devices is isolated, no stream of one waits for the other
/// (lost_devices::must_wait_on_host). So the task waits here until its predecessor has ended, or is
/// open again because its device was lost.
///
/// Threads: only the holder of the device's lease.
class end_waits {
 public:
  explicit end_waits(runtime_parts const& shared) noexcept : shared_(shared) {}

  /// Also lets the task look as if it were parked on the predecessor, so that threads that wait for
  /// the task help with the predecessor.
  void add(slot_address task, task_key ahead) {
    shared_.tasks.at(task).parked_on.store(ahead.slot + 1, std::memory_order_relaxed);
    waiting_.push_back({task, ahead});
  }
  /// Calls start(task) for each task that waits no longer. The call may `add` the task again.
  /// @return whether there was any.
  template <class Start>
  bool poll(Start const& start) {
    if (waiting_.empty()) { return false; }
    auto const first =
        std::stable_partition(waiting_.begin(), waiting_.end(), [this](wait const& each) {
          return shared_.order.look(each.ahead).state == task_state::states::launched;
        });
    ready_.clear();
    for (auto each = first; each != waiting_.end(); ++each) { ready_.push_back(each->task); }
    waiting_.erase(first, waiting_.end());
    for (slot_address const task : ready_) {
      shared_.tasks.at(task).parked_on.store(0, std::memory_order_relaxed);
      start(task);
    }
    return !ready_.empty();
  }
  void move_to(std::vector<slot_address>& tasks) {
    for (wait const& each : std::exchange(waiting_, {})) { tasks.push_back(each.task); }
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

 private:
  struct wait {
    slot_address task;
    task_key ahead;
  };

  runtime_parts const& shared_;
  std::vector<wait> waiting_;
  std::vector<slot_address> ready_;  // scratch memory
};

}  // namespace flotilla::dispatch
