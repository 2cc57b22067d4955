// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes tasks from the queues of a device: requeued tasks, tasks in inboxes, and tasks that any
// device may take.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/device/task_starter.hpp"
#include "dispatch/queue/device_inbound.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
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

  // The next three functions need the context to be current. They return whether they took or
  // started any task.

  /// Starts the requeued tasks. A task is requeued after its predecessor was launched or has ended.
  bool take_requeued();
  /// Starts the tasks that wait for room, and takes and starts up to 64 tasks from each inbox. The
  /// most urgent level comes first. Launches urgent tasks before reading the inboxes of level 0.
  bool take_inboxes();
  /// The same for the levels above 0 only.
  bool take_urgent();
  /// The same for level 0 in a joint pass: takes and starts up to 64 tasks, until one of them is
  /// parked on a task of another device. That device's tasks must be taken first, or most tasks
  /// would be parked.
  bool take_in_turn();
  /// Takes and starts up to 256 tasks from each inbox of the shared queue, as many as this device
  /// has room for.
  bool pull_shared();

  /// Returns whether a task above `level` has arrived. Updates the lists of inboxes first.
  [[nodiscard]] bool has_more_urgent(priority_level level);
  /// Returns whether any inbox of this device holds tasks. Does not see inboxes that were created
  /// after the last update of the list.
  [[nodiscard]] bool has_left_some() const noexcept;
  /// Returns how many tasks the inboxes of this device hold, as has_left_some sees them.
  [[nodiscard]] std::size_t queued() const noexcept;
  /// Moves the tasks of every queue of this device to the end of `tasks`.
  /// @param shared_too  Whether to take the tasks of the shared queue too: true if no device can
  /// run them.
  void take_everything(std::vector<slot_address>& tasks, bool shared_too);
  /// Returns how many tasks of the shared queue this device has taken so far. Threads: any.
  [[nodiscard]] std::uint64_t pulled() const noexcept {
    return pulled_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] slot_address next_requeued(slot_address task) const noexcept;
  /// Returns how many tasks are in the list that begins with `first`, or
  /// engine_batches::min_expected if there are more.
  [[nodiscard]] std::size_t count_requeued(slot_address first) const noexcept;
  /// Returns whether more tasks of this level may be taken.
  [[nodiscard]] bool has_room(priority_level level) const noexcept;
  [[nodiscard]] std::size_t shared_room(priority_level level) const noexcept;
  [[nodiscard]] bool has_shared_room() const noexcept;
  [[nodiscard]] bool inboxes_have_above(priority_level level) const noexcept;
  bool take_inboxes(priority_level level);
  /// Updates the lists of inboxes, and tells the batcher how many tasks wait.
  void begin_take();
  [[nodiscard]] std::span<slot_address const> held() const noexcept {
    return std::span{held_}.first(end_held_).subspan(first_held_);
  }
  bool pull_shared(priority_level level, bool& left, bool& has_orphans);
  /// Takes tasks out of a claimed inbox of the shared queue, as many as this device has room for.
  /// They are in `popped_`. @return their number.
  [[nodiscard]] std::size_t pop_shared(inbox& box, priority_level level);
  static void empty(inbox& box, std::vector<slot_address>& tasks);

  // The maximum number of tasks that are taken from one inbox before the next inbox is read. The
  // limit prevents a submitting thread from delaying the tasks of the other threads.
  static constexpr std::size_t quantum = 64;
  // The same for an inbox of the shared queue. It is larger, because the inbox moves to another
  // core each time another device reads it. On two GPUs a flood takes a fourth less time than with
  // 64 (docs/results/h200x2-suite.txt).
  static constexpr std::size_t shared_quantum = 256;

  parts const parts_;
  inbox_registry::view own_;
  inbox_registry::view shared_;
  std::array<slot_address, shared_quantum> popped_{};  // scratch memory
  // Tasks that take_in_turn has taken and not started. They come before those in the inboxes.
  std::array<slot_address, quantum> held_{};
  std::size_t first_held_ = 0;
  std::size_t end_held_ = 0;
  std::atomic<std::uint64_t> pulled_{0};  // written by the holder of the lease
};

}  // namespace flotilla::dispatch
