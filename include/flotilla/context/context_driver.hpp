#pragma once
/// A driver, for those who manage contexts themselves: its devices, the calling thread's stack, primary contexts.

#include <memory>
#include <optional>
#include <vector>

#include <flotilla/context_ref.hpp>
#include <flotilla/device.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

class runtime;

/// The state of a device's primary context, which the CUDA runtime library uses.
struct primary_state {
  bool active = false;
  context_flags flags{};  ///< that it has, or will have
};

/// Who may have contexts on a device, as its administrator has set it.
enum class compute_mode { any, exclusive_process, prohibited };

/// One of the drivers of this process. A copy is as good. Threads: any; the stack is that of the calling thread.
class FLOTILLA_EXPORT context_driver {
 public:
  /// @throws no_device  saying why there are no GPUs.
  [[nodiscard]] static context_driver gpus();
  /// The CPU driver, with at least so many devices.
  [[nodiscard]] static context_driver cpus(int devices = 1);
  /// The one that serves a runtime.
  [[nodiscard]] static context_driver of(runtime const& runtime);

  /// All it has, in its order; `driver_ordinal` names them here.
  [[nodiscard]] std::vector<device> devices() const;
  [[nodiscard]] bool can_access_peer(device const& from, device const& to) const;
  /// How fast the link is, the lower the faster, 0 best; empty: the driver cannot tell.
  [[nodiscard]] std::optional<int> peer_rank(device const& from, device const& to) const;
  [[nodiscard]] flotilla::compute_mode compute_mode(device const& of) const;
  /// Whether contexts of this device can be limited to some multiprocessors (under MPS).
  [[nodiscard]] bool can_limit_execution(device const& where) const;

  /// A context by its handle. @throws invalid_argument  The driver does not know it: destroyed, or of another driver.
  [[nodiscard]] context_ref adopt(CUctx_st* handle) const;

  // ---- the calling thread's stack; context_scope is the safer way ----

  /// The context on top; empty: there is none.
  [[nodiscard]] std::optional<context_ref> current() const;
  /// @throws context_in_use  A green context that another thread has current.
  void push(context_ref const& context) const;
  /// Takes the top off. @return it; empty: the stack is.
  /// @throws context_in_use  The top belongs to a context_scope that is open.
  std::optional<context_ref> pop() const;
  /// Puts `context` in the place of the top, or pops it where that is empty. @throws context_in_use  as `pop`.
  void set_current(std::optional<context_ref> const& context) const;

  // ---- primary contexts; to hold one, make a floating_context of that source ----

  [[nodiscard]] primary_state primary(device const& of) const;
  /// For when it is made next; changes it as well where it is active.
  void set_primary_flags(device const& of, context_flags const& flags) const;
  /// Destroys it with all that it owns, whoever else uses it.
  /// @throws context_in_use  flotilla itself holds it: a floating_context, or a runtime.
  void reset_primary(device const& of) const;

  /// For those who extend flotilla.
  explicit context_driver(std::shared_ptr<driver::table const> api) noexcept : api_{std::move(api)} {}
  [[nodiscard]] std::shared_ptr<driver::table const> const& api() const noexcept { return api_; }

 private:
  std::shared_ptr<driver::table const> api_;
};

}  // namespace flotilla
