// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs control operations, which need the context of a device but are not tasks.

#include <functional>

#include "dispatch/device/device_set.hpp"
#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/waiting/deadlock_detector.hpp"

namespace flotilla::dispatch {

/// Threads: any. Calls inside a callable are allowed.
class control {
 public:
  control(runtime_parts const& shared, device_set const& devices, usage_guard const& usage,
          deadlock_detector& deadlocks) noexcept
      : shared_(shared), devices_(devices), usage_(usage), deadlocks_(deadlocks) {}

  /// Waits for the lease of the device, makes the context current, and calls `operation`. If
  /// another thread drives the device, that thread releases the lease after its current pass.
  /// @throws used_after_fork, driver_error, would_deadlock (only inside a callable), poisoned
  /// (only if the device is lost), and all exceptions of `operation`
  ///
  /// If `operation` throws driver_error because its isolated device was lost, it is called again,
  /// on the successor.
  void run(unsigned device, std::function<void(device_driver&)> const& operation) const;
  /// Returns whether `run` may call an operation: whether the device is not quarantined.
  [[nodiscard]] bool is_usable(unsigned device) const noexcept {
    return !shared_.lost.is_quarantined(device);
  }
  /// Returns `device`, or if it is quarantined, another one that is not. If all are quarantined,
  /// returns `device`. Prefers devices of the same driver.
  [[nodiscard]] unsigned usable_instead_of(unsigned device) const noexcept;

 private:
  [[nodiscard]] context::lease take_lease(device_driver& device) const;

  runtime_parts const& shared_;
  device_set const& devices_;
  usage_guard const& usage_;
  deadlock_detector& deadlocks_;
};

}  // namespace flotilla::dispatch
