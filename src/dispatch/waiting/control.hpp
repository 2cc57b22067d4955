#pragma once
// Operations that need a device's context but are not tasks.

#include <functional>

#include "dispatch/device/device_set.hpp"
#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/waiting/deadlock_detector.hpp"

namespace flotilla::dispatch {

/// Threads: any, also inside a callable.
class control {
 public:
  control(runtime_parts const& shared, device_set const& devices, usage_guard const& usage,
          deadlock_detector& deadlocks) noexcept
      : shared_(shared), devices_(devices), usage_(usage), deadlocks_(deadlocks) {}

  /// Runs `operation` with the context of the device current, as soon as this thread gets the
  /// lease.
  /// @throws used_after_fork, driver_error; would_deadlock inside a callable; and what `operation`
  /// throws
  /// Blocks  until the thread that drives the device ends its current pass.
  void run(unsigned device, std::function<void(device_driver&)> const& operation) const;

 private:
  [[nodiscard]] context::lease take_lease(device_driver& device) const;

  runtime_parts const& shared_;
  device_set const& devices_;
  usage_guard const& usage_;
  deadlock_detector& deadlocks_;
};

}  // namespace flotilla::dispatch
