#pragma once
/// A driver, for programs that manage contexts themselves: its devices, the context stack of the
/// calling thread, and primary contexts.

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

/// The state of the primary context of a device, which the CUDA runtime library uses.
struct primary_state {
  bool active = false;
  context_flags flags{};  ///< its flags; if it is inactive, those it will be created with
};

/// Which processes may create contexts on a device. The administrator of the machine sets it.
enum class compute_mode { any, exclusive_process, prohibited };

/// One of the drivers of this process. Copies are equivalent.
/// Threads: any; the context stack is always that of the calling thread.
class FLOTILLA_EXPORT context_driver {
 public:
  /// @throws no_device  There are no GPUs; the message says why.
  [[nodiscard]] static context_driver gpus();
  /// The CPU driver, with at least `devices` devices.
  [[nodiscard]] static context_driver cpus(int devices = 1);
  /// The driver that a runtime uses.
  [[nodiscard]] static context_driver of(runtime const& runtime);

  /// All devices of this driver, in its order. `driver_ordinal` identifies them here.
  [[nodiscard]] std::vector<device> devices() const;
  [[nodiscard]] bool can_access_peer(device const& from, device const& to) const;
  /// The rank of the link between two devices: 0 is the fastest. Empty: the driver does not know.
  [[nodiscard]] std::optional<int> peer_rank(device const& from, device const& to) const;
  [[nodiscard]] flotilla::compute_mode compute_mode(device const& device) const;
  /// Whether a context of this device can be limited to a number of multiprocessors (under MPS).
  [[nodiscard]] bool can_limit_execution(device const& device) const;

  /// Refers to a context by its handle.
  /// @throws invalid_argument  The driver does not know the handle: the context was destroyed or
  ///                           belongs to another driver.
  [[nodiscard]] context_ref adopt(CUctx_st* handle) const;

  // ---- the stack of the calling thread; context_scope is safer ----

  /// The context on top of the stack; empty: the stack is empty.
  [[nodiscard]] std::optional<context_ref> current() const;
  /// @throws context_in_use  `context` is a green context and current on another thread.
  void push(context_ref const& context) const;
  /// Pops the top of the stack. @return the popped context; empty: the stack was empty.
  /// @throws context_in_use  The top belongs to an open context_scope.
  std::optional<context_ref> pop() const;
  /// Replaces the top of the stack by `context`, or pops it if `context` is empty.
  /// @throws context_in_use  as `pop`.
  void set_current(std::optional<context_ref> const& context) const;

  // ---- primary contexts; to keep one alive, make a floating_context of that source ----

  [[nodiscard]] primary_state primary(device const& device) const;
  /// Sets the flags for the next creation of the primary context. If it is active, it gets them
  /// now.
  void set_primary_flags(device const& device, context_flags const& flags) const;
  /// Destroys the primary context and everything in it, even if other code uses it.
  /// @throws context_in_use  A floating_context or a runtime holds it.
  void reset_primary(device const& device) const;

 private:
  friend struct detail::access;
  explicit context_driver(std::shared_ptr<driver::table const> api) noexcept
      : api_{std::move(api)} {}

  std::shared_ptr<driver::table const> api_;
};

}  // namespace v0_1
}  // namespace flotilla
