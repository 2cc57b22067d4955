// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds out what a task must wait for before the task can go into a stream.

#include <cstdint>
#include <memory>
#include <utility>

#include "dispatch/batching/joint_waves.hpp"
#include "dispatch/batching/unended_predecessors.hpp"
#include "dispatch/device/commuting_tasks.hpp"
#include "dispatch/device/end_waits.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// The combined state of all predecessors of a task.
struct resolution {
  enum class kinds {
    ready,    // the task may start after the predecessors that `resolve` has found
    stopped,  // the task is parked or in end_waits, or the driver is poisoned: ignore the task
    failed,   // a predecessor failed, so the task fails too
  } kind;
  std::shared_ptr<failure const> cause{};  // if `failed`: the failure of the predecessor
};

/// Threads: only the holder of the device's lease.
class predecessors {
 public:
  predecessors(runtime_parts const& shared, unsigned device, end_waits& ends)
      : shared_(shared), device_(device), ends_(ends) {}

  /// Checks all predecessors of the task. Parks the task if a predecessor is neither launched nor
  /// in an open batch of this device. If all others are ready and the task commutes, it takes its
  /// turn.
  /// @param found  Receives the predecessors that have not ended.
  /// @param may_join  Whether predecessors may also be in open batches of other devices, if this
  /// thread drives these devices (joint_pass).
  [[nodiscard]] resolution resolve(slot_address task, unended_predecessors& found,
                                   bool may_join = false);
  /// Sets the devices that this thread drives. Null: only this one.
  void drive_with(joint_waves const* joint) noexcept { joint_ = joint; }
  /// Returns the other devices, as bits, with predecessors that had not ended, since the last call.
  /// Counts tasks that may join a joint pass and have several predecessors: a chain that alternates
  /// between devices gains nothing by a joint pass.
  [[nodiscard]] std::uint64_t take_followed() noexcept { return std::exchange(followed_, 0); }
  /// Returns whether such a task was parked on a task of another device since the last call.
  [[nodiscard]] bool take_parked_elsewhere() noexcept {
    return std::exchange(parked_elsewhere_, false);
  }
  /// The open batches of this device that contain the predecessors of a task. One word, because
  /// returning more through memory stalls: it was a seventh of what a task costs this thread.
  struct batches_ahead {
    std::uint32_t mark = 0;  // the batch_mark of the one in the last wave; 0: there is none
    bool is_only = true;     // whether there is no other
    [[nodiscard]] bool found() const noexcept { return mark != 0; }
    [[nodiscard]] batch_place last() const noexcept { return batch_mark::place(mark); }
  };
  /// Returns the open batches with the predecessors, if all predecessors are in such batches, and
  /// these are in one lane. In all other cases, and if the task has no predecessors or very many,
  /// nothing is found, and the caller needs `resolve`, which costs more.
  [[nodiscard]] batches_ahead in_one_lane(slot_address task) const;

 private:
  /// Adds the predecessor to `found` if it is in an open batch of this device. This is the usual
  /// case while a thread submits many steps of dependent tasks. @return whether it is.
  bool is_batched_here(task_key key, unended_predecessors& found) const;
  /// The same for the open batches of the other devices that this thread drives.
  bool is_batched_elsewhere(task_key key, unended_predecessors& found);
  /// Does this for all predecessors of `task`, which are in the slot. @return whether all of them
  /// are in open batches of this device. If not, `found` may have some of them.
  bool are_batched_here(slot const& task, unended_predecessors& found) const;
  /// Checks one predecessor. @param may_fail  Whether its failure makes the task fail.
  [[nodiscard]] resolution resolve_one(slot_address task, task_key key, bool may_fail,
                                       unended_predecessors& found);
  /// Notes that a task follows a task of `device`.
  void note_followed(unsigned device) noexcept {
    if (begins_joint_ && device != device_ && device < 64) {
      followed_ |= std::uint64_t{1} << device;
    }
  }

  /// Replaces predecessor `i`, which is a turn, by the task that took the turn last, and checks it.
  [[nodiscard]] resolution take_turn(slot_address task, std::size_t i, unended_predecessors& found);

  runtime_parts const& shared_;
  unsigned const device_;
  end_waits& ends_;
  joint_waves const* joint_ = nullptr;
  // Of the task that is being resolved:
  bool may_join_ = false;
  bool begins_joint_ = false;
  std::uint64_t followed_ = 0;
  bool parked_elsewhere_ = false;
  commuting_tasks commuting_;
};

}  // namespace flotilla::dispatch
