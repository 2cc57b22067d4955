#pragma once
// Device memory and pinned host memory of a runtime.

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

  /// @return the address. @throws driver_error, and what control::run throws
  [[nodiscard]] std::uintptr_t allocate(unsigned device, std::size_t bytes) const;
  /// Pinned, and mapped for every device.
  [[nodiscard]] std::uintptr_t allocate_host(std::size_t bytes) const;
  /// Gives memory up: it is freed after every task that could use it.
  /// @param kind  device_memory or host_memory.
  void release(epoch_reclaimer::kinds kind, unsigned device, std::uintptr_t address,
               std::size_t bytes) const noexcept;
  /// Waits until every device has printed what its kernels wrote with printf.
  void flush_printf() const;

 private:
  /// Waits for the open tasks, if they keep memory that was given up. @return whether it waited.
  [[nodiscard]] bool wait_for_given_up_memory() const;

  runtime_parts const& shared_;
  device_set const& devices_;
  waiter const& waiter_;
  control const& operations_;
  usage_guard const& usage_;
};

}  // namespace flotilla::dispatch
