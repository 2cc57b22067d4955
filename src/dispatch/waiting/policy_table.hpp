// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores the wait policies of a runtime's devices, and makes a waiting thread spin, yield or sleep.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "dispatch/device/device_set.hpp"
#include "dispatch/waiting/wait_policy.hpp"
#include "driver/library.hpp"

namespace flotilla::dispatch {

/// Only `add` changes the table, and only while the runtime starts. Afterwards any thread may call
/// the other functions.
class policy_table {
 public:
  policy_table(device_set const& devices, device_kind kind)
      : devices_(devices),
        kind_(kind),
        gpu_driver_(kind == device_kind::gpu ? &driver::gpu_driver() : nullptr) {}
  /// Adds the policy that the driver granted for the next device.
  void add(wait_policy granted) {
    by_device_.push_back(granted);
    all_.add(granted);
  }

  /// Returns `policy`. If `policy` is `automatic`, returns the policy that `automatic` means now.
  [[nodiscard]] wait_policy resolved(wait_policy policy) const noexcept;
  /// Returns the policy for a wait for a task.
  /// @param device  As in slot::device: 1 + the device index; 0 if any device may take the task.
  [[nodiscard]] wait_policy of_task(std::uint32_t device) const noexcept;
  /// Returns the combined policy of the devices that have work. If no device has work, returns the
  /// combined policy of all devices.
  /// @param automatic  The policy that `automatic` stands for.
  [[nodiscard]] wait_policy of_busy_devices(wait_policy automatic) const noexcept;
  /// Returns the policy of an idle worker: the most eager policy of all devices.
  [[nodiscard]] wait_policy of_idle_worker() const noexcept;
  /// Returns the policy of a worker that waits for busy devices. Here `automatic` means yield,
  /// because no thread waits for the worker.
  [[nodiscard]] wait_policy of_busy_worker() const noexcept;

  /// Spins, yields or sleeps once.
  /// @param round  The number of idle rounds, including this one.
  /// @param until  The deadline of the wait. A sleep ends no later than this deadline.
  void idle(wait_policy policy, unsigned round,
            std::optional<std::chrono::steady_clock::time_point> until = std::nullopt) const;

 private:
  device_set const& devices_;
  device_kind const kind_;
  driver::opened const* const gpu_driver_;  // null for CPU devices
  std::vector<wait_policy> by_device_;
  wait_policies all_;
};

}  // namespace flotilla::dispatch
