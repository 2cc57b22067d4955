// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocates and frees device memory and pinned host memory.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/waiting/control.hpp"
#include "dispatch/waiting/waiter.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class memory {
 public:
  memory(waiter const& waiter, control const& operations, usage_guard const& usage) noexcept
      : shared_(waiter.with().shared),
        devices_(waiter.with().devices),
        waiter_(waiter),
        operations_(operations),
        usage_(usage) {}

  /// Allocates device memory. @return the address. @throws driver_error, and the exceptions of
  /// control::run
  [[nodiscard]] std::uintptr_t allocate(unsigned device, std::size_t bytes) const;
  /// Allocates pinned host memory that all devices can use.
  [[nodiscard]] std::uintptr_t allocate_host(std::size_t bytes) const;
  /// Retires memory. The memory is freed after every task that could use it has ended.
  /// @param kind    device_memory or host_memory.
  /// @param device  The device of device memory.
  void release(epoch_reclaimer::kinds kind, unsigned device, std::uintptr_t address,
               std::size_t bytes) const noexcept;
  /// Waits until everything that kernels have printed so far has been written to stdout.
  void flush_printf() const;

 private:
  /// Waits until all open tasks have ended. Does nothing inside a callable, or if nothing waits to
  /// be freed. @return whether it waited.
  [[nodiscard]] bool wait_for_given_up_memory() const;
  /// Throws if `answer` is an error and the device is lost, so that control::run calls the
  /// operation again. @param call  The driver's function. @throws driver_error
  void throw_if_lost(unsigned device, CUresult answer, char const* call) const;

  runtime_parts const& shared_;
  device_set const& devices_;
  waiter const& waiter_;
  control const& operations_;
  usage_guard const& usage_;
};

}  // namespace flotilla::dispatch
