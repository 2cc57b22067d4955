#pragma once
// Takes tasks into a pass: tasks that were parked, tasks from inboxes, and tasks that any device
// may take.

#include <atomic>
#include <cstdint>
#include <vector>

#include "dispatch/device/task_starter.hpp"
#include "dispatch/queue/device_inbound.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease.
class intake {
 public:
  struct parts {
    runtime_parts const& shared;
    device_inbound& inbound;
    lane_set const& lanes;
    batcher& batches;
    task_starter& starter;
  };
  explicit intake(parts const& with) : parts_(with) {}

  // These need the context current. Each returns whether it took any task.

  /// Takes tasks that were parked and whose predecessors have moved on.
  bool take_requeued();
  /// Takes up to 64 tasks from each inbox, the most urgent level first. Urgent tasks are launched
  /// at once.
  bool take_inboxes();
  /// Takes tasks for any device, as many as there is room for.
  bool pull_shared();

  /// Whether a task more urgent than `level` has arrived, also in inboxes that are new.
  [[nodiscard]] bool has_more_urgent(priority_level level);
  /// Whether an inbox held tasks when it was last looked at.
  [[nodiscard]] bool has_left_some() const noexcept;
  /// Empties every queue of this device.
  /// @param shared_too  Also tasks for any device, because no other device is left that could pull
  /// them.
  void take_everything(std::vector<slot_address>& tasks, bool shared_too);
  /// Tasks for any device that were pulled so far. Threads: any.
  [[nodiscard]] std::uint64_t pulled() const noexcept {
    return pulled_.load(std::memory_order_relaxed);
  }

 private:
  /// Whether more tasks of that level may come in.
  [[nodiscard]] bool has_room(priority_level level) const noexcept;
  [[nodiscard]] std::size_t shared_room(priority_level level) const noexcept;
  [[nodiscard]] bool has_shared_room() const noexcept;
  [[nodiscard]] bool inboxes_have_above(priority_level level) const noexcept;
  bool take_inboxes(priority_level level);
  bool pull_shared(priority_level level, bool& left, bool& has_orphans);
  static void empty(inbox& box, std::vector<slot_address>& tasks);

  parts const parts_;
  inbox_registry::view own_;
  inbox_registry::view shared_;
  std::vector<slot_address> popped_;      // scratch
  std::atomic<std::uint64_t> pulled_{0};  // the holder of the lease
};

}  // namespace flotilla::dispatch
