// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/control.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>

#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

context::lease control::take_lease(device_driver& device) const {
  bool const is_inside = callable_frame::innermost(shared_.id) != nullptr;
  if (!is_inside && !detail::interruptible_waits::are_on()) { return device.gate().take(); }
  // Inside a callable, this thread holds the lease of another device while it waits for this
  // lease. Another thread may wait for that other lease. So check for a deadlock every millisecond.
  while (true) {
    if (is_inside) { deadlocks_.check_wait_for_lease(device.index()); }
    detail::interruptible_waits::check();
    auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
    if (auto lease = device.gate().take_until(until)) {
      if (is_inside) { deadlocks_.clear(); }
      return std::move(*lease);
    }
  }
}

void control::run(unsigned device, std::function<void(device_driver&)> const& operation) const {
  usage_.check_process();
  device_driver& driver = devices_[device];
  auto const run_now = [&] {
    context::current_scope const scope{driver.gate()};
    operation(driver);
  };
  // This thread holds the lease already if it is inside a callable of this device.
  if (driver.gate().held_by_this_thread()) { return run_now(); }
  device_set::lease_guard const guard{devices_, driver, take_lease(driver)};
  while (true) {
    bool const is_usable = driver.replace_if_lost();
    if (!is_usable && shared_.faults.is_poisoned()) {
      std::rethrow_exception(shared_.faults.failure_of_all()->error);
    }
    shared_.lost.check_usable(device, is_usable);
    try {
      return run_now();
    } catch (driver_error const&) {
      if (!shared_.lost.is_lost(device)) { throw; }
    }
  }
}

unsigned control::usable_instead_of(unsigned device) const noexcept {
  if (is_usable(device)) { return device; }
  unsigned found = device;
  for (unsigned i = 0; i < devices_.size(); ++i) {
    if (!is_usable(i)) { continue; }
    if (&devices_[i].context().api() == &devices_[device].context().api()) { return i; }
    found = i;
  }
  return found;
}

}  // namespace flotilla::dispatch
