// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open batches of the devices that one thread drives together.

#include <cstddef>
#include <vector>

#include "dispatch/batching/open_waves.hpp"

namespace flotilla::dispatch {

/// If tasks of several devices depend on each other, one thread can hold the leases of all these
/// devices (joint_pass). Then wave *n* of a device also comes after the waves before *n* of the
/// other devices, so a task can follow a task in an open batch of another device. Otherwise it
/// would wait on the host until that batch is launched, its own successors too, and so on: after
/// some steps, each batch would have tasks of many different steps.
///
/// Threads: only the thread that holds the leases of all members.
class joint_waves {
 public:
  struct member {
    open_waves* waves = nullptr;  // null: the device is not driven by this thread
    // Receives the tasks that were parked and can now follow a task of an open batch.
    std::vector<slot_address>* runnable = nullptr;
  };
  explicit joint_waves(std::size_t devices) : members_(devices) {}

  void add(unsigned device, member const& which) noexcept { members_[device] = which; }
  void remove(unsigned device) noexcept { members_[device] = {}; }
  [[nodiscard]] bool contains(unsigned device) const noexcept {
    return device < members_.size() && members_[device].waves != nullptr;
  }
  [[nodiscard]] member const& operator[](unsigned device) const noexcept {
    return members_[device];
  }
  /// The number of devices of the runtime.
  [[nodiscard]] std::size_t devices() const noexcept { return members_.size(); }

 private:
  std::vector<member> members_;  // by device index
};

}  // namespace flotilla::dispatch
