// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the CPU driver that are not in the CUDA API, for tests and for flotilla itself. The
// drop-in exports these functions through the symbol `flotilla_cpu_driver`. flotilla recognises the
// drop-in by this symbol. The built-in copy provides the functions through control().

#include <cstddef>

namespace flotilla::cpu_driver {

/// The numbers of open handles and of allocations. `modules` includes the modules that libraries
/// have loaded into contexts. `streams` does not include NULL streams, and `allocations` does not
/// include the variables of modules.
struct live_counts {
  std::size_t contexts;
  std::size_t streams;
  std::size_t events;
  std::size_t allocations;
  std::size_t modules;
  std::size_t libraries;
};

struct flotilla_cpu_driver_control {
  static constexpr int current_version = 4;
  int version;

  /// Adds devices until the driver has at least `count`, but at most 64. Threads: any.
  void (*ensure_devices)(int count);
  /// Adds the fault injection rules in `spec` (see injection.hpp). Returns 0 on success. If a rule
  /// is invalid, writes the reason to `error` and returns -1.
  int (*inject)(char const* spec, char* error, std::size_t error_bytes);
  /// Removes all fault injection rules.
  void (*clear_injection)();
  /// Returns the counts, which are exact only while no other thread calls the driver.
  live_counts (*live_handles)();
  /// Returns the number of contexts on the calling thread's stack.
  std::size_t (*stack_depth)();
  /// Removes the sticky fault and returns true. If a context exists, does nothing and returns
  /// false.
  bool (*reset_fault_for_tests)();
  /// Writes to `error` why cuInit has refused the environment variables. Writes an empty text if it
  /// has not refused them.
  void (*start_error)(char* error, std::size_t error_bytes);

  // A device in a worker process of its own can be lost and replaced without harm to the others.
  // These functions play that for tests, in this process.

  /// From now on, a fault of the device concerns only this device; or, if not `on`, all again.
  void (*confine_faults)(int device, bool on);
  /// Makes a device whose faults are confined fail with this CUresult. Its pending operations are
  /// abandoned, and calls for its streams return the status.
  void (*lose_device)(int device, int status);
  /// Returns the CUresult of the device's fault, or 0.
  int (*fault_of_device)(int device);
  /// Waits until a lost device has abandoned its operations, and removes its fault. Handles and
  /// memory stay valid.
  void (*replace_device)(int device);

  /// Returns how often an entry point was called since a rule `delay` for it was added.
  std::size_t (*delayed_calls)(char const* entry);
};

[[nodiscard]] flotilla_cpu_driver_control const& control() noexcept;

}  // namespace flotilla::cpu_driver
