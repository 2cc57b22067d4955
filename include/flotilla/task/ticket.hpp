#pragma once
/// The handle of a submitted task.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/task/task_id.hpp>

namespace flotilla {
inline namespace v0_1 {

class completion;

/// A submitted task. Movable, not copyable: the runtime keeps the error of a failed task as long as
/// its ticket lives. A ticket may outlive its runtime; every task has ended by then. The task runs
/// even if its ticket is dropped.
///
/// A moved-from or default-constructed ticket names no task: `valid()` is false, and every other
/// call throws invalid_argument.
class FLOTILLA_EXPORT [[nodiscard]] ticket {
 public:
  ticket() noexcept = default;
  ticket(ticket&& other) noexcept;
  ticket& operator=(ticket&& other) noexcept;
  ~ticket();

  [[nodiscard]] bool valid() const noexcept { return runtime_ != nullptr; }
  [[nodiscard]] task_id id() const noexcept {
    return {runtime_ == nullptr ? 0 : runtime_->number, slot_, generation_};
  }

  /// Whether the task has ended, successfully or not. In single-threaded mode it pumps once first.
  /// @throws used_after_fork
  /// Threads  any. Several threads may call const functions of one ticket at once.
  /// Blocks   never.
  /// Cost     three loads and no driver call, apart from the pump.
  [[nodiscard]] bool ready() const;

  /// Waits until the task has ended, and throws its error if it has one. Each call throws it again.
  /// The caller helps while it waits: it launches tasks that no thread has launched yet, and runs
  /// callables that it submitted itself or that the task depends on.
  /// @param how  How this thread waits. The default is the wait policy of the task's device.
  ///             Workers follow the settings of their devices. `blocking` sleeps on an event that
  ///             is recorded after everything that was put into the task's stream so far. If other
  ///             threads keep that stream full, it wakes later than the task ends.
  /// @throws driver_error, dependency_failed, poisoned, or what the callable threw
  /// @throws would_deadlock  The caller is inside a callable, and only this thread could let the
  ///                         task continue. Nothing has changed, and the task still runs.
  /// Threads  any, also inside a callable and inside a oneTBB task. It runs no oneTBB task while it
  ///          waits.
  void wait(std::optional<wait_policy> how = std::nullopt) const;

  /// The same for a limited time. It throws as `wait` does, and uses the wait policy of the task's
  /// device. The driver has no wait with a deadline, so with `blocking` it alternates between
  /// sleeping and polling: it may see the end up to 0.5 ms late, but it does not sleep beyond
  /// `when`.
  /// @return whether the task has ended. If not, nothing has changed.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(std::chrono::steady_clock::now() +
                      std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  }

  /// Runs `callable(std::exception_ptr)` once after the task has ended: with null, or with what
  /// `wait` throws. It runs on a worker, or on a thread that pumps, waits for a completion, or
  /// waits for all tasks; in single-threaded mode inside any pump or wait. It never runs inside
  /// `then` itself, and no device's context is current. It may submit, wait for tickets, and call
  /// `then`. It must leave the thread's context stack as it found it, and must not end the runtime.
  /// The ticket may be dropped meanwhile. The end of the runtime runs all open continuations first.
  /// If the ticket has outlived its runtime, `callable` runs at once on this thread. Defined in
  /// <flotilla/task/completion.hpp>.
  /// @return A completion of `callable`. It may be dropped. Its error is what `callable` throws.
  /// @throws invalid_argument  `callable` is null. Nothing was attached.
  /// @throws used_after_fork
  /// Threads  any, also inside a callable.
  /// Blocks   never.
  /// Cost     two or three allocations and a lock, only for tasks with a continuation. While one is
  ///          open, one worker keeps looking, as the device's wait policy says. No host function is
  ///          enqueued.
  template <class F>
  requires std::invocable < std::decay_t<F>
  &, std::exception_ptr > completion then(F&& callable) const;

  /// The device that runs or ran the task. Empty: no device has taken the task yet. It is also
  /// empty if the task could run on any device and ended long before the first call, because
  /// the runtime keeps no record of ended tasks.
  [[nodiscard]] std::optional<device_ordinal> device() const;

 private:
  friend struct detail::access;
  void drop() noexcept;

  detail::runtime_impl* runtime_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint32_t slot_ = 0;
  mutable std::uint32_t device_ = 0;  // 1 + the device, once known
};

}  // namespace v0_1
}  // namespace flotilla
