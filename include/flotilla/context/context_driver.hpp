// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions of a driver for programs that manage contexts themselves: devices, the context stack
/// of the calling thread, and primary contexts.

#include <memory>
#include <optional>
#include <vector>

#include <flotilla/context/context_ref.hpp>
#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// The state of a device's primary context, which is the context of the CUDA runtime library.
struct primary_state {
  bool active = false;
  context_flags flags{};  ///< the flags of the context, or of the next one if it is inactive
};

/// The compute mode of a device: it determines which processes may create contexts on the device.
/// The administrator of the machine sets the mode.
enum class compute_mode { any, exclusive_process, prohibited };

/// One of the drivers of this process. Copies are equivalent.
/// Threads: any. Functions for the context stack use the stack of the calling thread.
class FLOTILLA_EXPORT context_driver {
 public:
  /// Returns the GPU driver.
  /// @throws no_device  There is no usable GPU. The message has the reason.
  [[nodiscard]] static context_driver gpus();
  /// Returns the CPU driver. If it has fewer than `devices` devices, the call adds the missing
  /// devices.
  [[nodiscard]] static context_driver cpus(int devices = 1);
  /// Returns the driver that `runtime` uses.
  [[nodiscard]] static context_driver of(runtime const& runtime);

  /// Returns all devices of this driver, in the order of their `driver_ordinal`. The functions
  /// below use this ordinal to identify a device.
  [[nodiscard]] std::vector<device> devices() const;
  [[nodiscard]] bool can_access_peer(device const& from, device const& to) const;
  /// Returns the performance rank of the link between two devices, or empty if the driver does not
  /// know the rank. Rank 0 is the fastest link.
  [[nodiscard]] std::optional<int> peer_rank(device const& from, device const& to) const;
  [[nodiscard]] flotilla::compute_mode compute_mode(device const& device) const;
  /// Returns whether this device can limit a context to a number of multiprocessors. Such a limit
  /// requires MPS.
  [[nodiscard]] bool can_limit_execution(device const& device) const;

  /// Returns a reference to the context with this handle.
  /// @throws invalid_argument  The driver does not know the handle: the context was destroyed or
  ///                           belongs to another driver.
  [[nodiscard]] context_ref adopt(CUctx_st* handle) const;

  // ---- The context stack of the calling thread. Prefer context_scope, which is safer. ----

  /// Returns the context on top of the stack, or empty if the stack is empty.
  [[nodiscard]] std::optional<context_ref> current() const;
  /// @throws context_in_use  `context` is a green context that is current on another thread.
  void push(context_ref const& context) const;
  /// Pops and returns the context on top of the stack, or returns empty if the stack is empty.
  /// @throws context_in_use  The context on top belongs to an open context_scope.
  std::optional<context_ref> pop() const;
  /// Replaces the context on top of the stack by `context`. If `context` is empty, pops the context
  /// on top and pushes nothing.
  /// @throws context_in_use  The context on top belongs to an open context_scope.
  void set_current(std::optional<context_ref> const& context) const;

  // ---- Primary contexts. A floating_context with the source `primary` retains the context. ----

  [[nodiscard]] primary_state primary(device const& device) const;
  /// Sets the flags of the primary context. If the context is inactive, it gets the flags when it
  /// is created.
  void set_primary_flags(device const& device, context_flags const& flags) const;
  /// Destroys the primary context and all of its resources, even if code outside flotilla uses the
  /// context.
  /// @throws context_in_use  A floating_context or a runtime holds the primary context.
  void reset_primary(device const& device) const;

 private:
  friend struct detail::access;
  explicit context_driver(std::shared_ptr<driver::table const> api) noexcept
      : api_{std::move(api)} {}

  std::shared_ptr<driver::table const> api_;
};

}  // namespace v0_1
}  // namespace flotilla
