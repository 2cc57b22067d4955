// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The driver of isolated devices: a table that sends the calls for some devices to worker
// processes, and all other calls to the driver of this process, the base driver.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "driver/table.hpp"

namespace flotilla::isolated {

struct isolated_choice {
  int ordinal = 0;  // the driver's ordinal of the device
  bool wants_spare = false;
};

struct isolated_drivers {
  // Runs contexts of isolated devices in workers, and forwards all other calls to the base driver.
  std::shared_ptr<driver::table const> forwarding;
  // For the devices of this process in a runtime that also has isolated devices: the base driver,
  // except that pinned memory can be used by both, and that copies between the two work.
  std::shared_ptr<driver::table const> local;
};

/// Returns the drivers of isolated devices and of the devices beside them. From now on, contexts
/// that the forwarding driver makes on these devices live in worker processes. Workers start with
/// the first context of their device.
/// @param worker  The program; empty: see runtime_options::worker_path.
/// @throws invalid_argument  The program does not exist, a device cannot be isolated, or this
///                           process already has isolated devices of another driver.
/// Threads: any.
[[nodiscard]] isolated_drivers isolate(std::shared_ptr<driver::table const> const& base,
                                       std::span<isolated_choice const> devices,
                                       std::string const& worker);

/// Returns the program that `isolate` uses. @throws invalid_argument  There is none.
[[nodiscard]] std::string worker_program(std::string const& asked);

/// Adds a fault injection rule in all workers that run, or removes all rules if `spec` is empty.
void inject_in_workers(std::string_view spec);

/// The number of workers that this process has and that have not been reaped.
[[nodiscard]] std::size_t running_workers();

}  // namespace flotilla::isolated
