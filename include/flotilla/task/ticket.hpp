// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The handle of a submitted task.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/continuation.hpp>
#include <flotilla/detail/deadline.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/task/task_id.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The handle of a submitted task. Movable, not copyable. The runtime keeps the error of a failed
/// task until its ticket is destroyed. A task runs even if its ticket is dropped. A ticket may
/// outlive its runtime, which ends only after all tasks have ended.
///
/// A list in braces copies its elements, so std::vector<ticket>{std::move(a)} does not compile.
/// Call push_back(std::move(a)). A dependency_list takes tickets in braces, and does not move them.
///
/// A moved-from or default-constructed ticket names no task: `valid()` is false, `id()` names no
/// task, and every other call throws invalid_argument.
class FLOTILLA_EXPORT [[nodiscard]] ticket {
 public:
  ticket() noexcept = default;
  ticket(ticket&& other) noexcept
      : runtime_{std::exchange(other.runtime_, nullptr)},
        generation_{other.generation_},
        slot_{other.slot_},
        device_{other.device_} {}
  ticket& operator=(ticket&& other) noexcept {
    if (this == &other) { return *this; }
    if (runtime_ != nullptr) { drop(); }
    runtime_ = std::exchange(other.runtime_, nullptr);
    generation_ = other.generation_;
    slot_ = other.slot_;
    device_ = other.device_;
    return *this;
  }
  ticket(ticket const&) = delete;  // {std::move(a)} of a std::vector copies: use push_back
  ticket& operator=(ticket const&) = delete;
  ~ticket() {
    if (runtime_ != nullptr) { drop(); }
  }

  [[nodiscard]] bool valid() const noexcept { return runtime_ != nullptr; }
  [[nodiscard]] task_id id() const noexcept {
    return {runtime_ == nullptr ? 0 : runtime_->number, slot_, generation_};
  }

  /// Returns whether the task has ended, successfully or not. In single-threaded mode the call may
  /// pump once.
  /// @throws used_after_fork
  /// Threads  any. Several threads may call const functions of one ticket at the same time.
  /// Blocks   never.
  /// Cost     three loads, plus the pump in single-threaded mode. While the task is a launch that
  ///          fills its device, or a copy beside one, also a cuEventQuery.
  [[nodiscard]] bool ready() const;

  /// Waits until the task has ended. If the task failed, every call throws its error.
  /// The caller helps while it waits: it launches tasks that are not launched yet. The caller also
  /// runs callables that it submitted itself, and callables on which the task depends.
  /// @param how  The wait policy of this thread. The default is the policy of the task's device.
  ///             The parameter does not affect workers. With `blocking`, the thread sleeps until
  ///             all work that is in the task's stream at this time has completed. So work that
  ///             follows the task in the stream delays the wake-up.
  /// @throws driver_error, dependency_failed, poisoned, or the exception of the callable
  /// @throws would_deadlock  The caller is inside a callable or a host task, and the task cannot
  ///                         continue before it returns. The task is unaffected and will still run.
  /// Threads  any, even inside a callable or a oneTBB task. The waiting thread runs no oneTBB task.
  void wait(std::optional<wait_policy> how = std::nullopt) const;

  /// Waits as `wait` does, but only until `when`, and with the wait policy of the task's device.
  /// With `blocking` the thread alternates between sleeping and polling, because the driver has no
  /// wait with a deadline. So the thread may see the end of the task up to 0.5 ms late, but it
  /// never sleeps beyond `when`.
  /// @return Whether the task has ended.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(detail::deadline_after(time));
  }

  /// Cancels the task if it is not launched yet. A cancelled task never runs: it ends with
  /// task_cancelled, or with dependency_failed if a predecessor has failed. Tasks that have it in
  /// `after` fail with dependency_failed. The task ends during the call, even if its predecessors
  /// still run. The task of a flow is an exception: it ends only after the tasks before it have
  /// ended. The captures of a cancelled callable are destroyed as after a run, by a thread that
  /// drives the device, and until then the task keeps its place in the window.
  /// @return True if the task will not run, because of this or an earlier call or of its deadline.
  ///         False if the task has ended otherwise, or if its launch has begun: then the task runs
  ///         as if `cancel` had not been called. Always false for the ticket of a replay without a
  ///         deadline. For a bulk, see bulk.hpp.
  /// @throws used_after_fork
  /// Threads  any, even inside a callable or continuation.
  /// Blocks   never.
  /// Cost     some atomic operations and no driver call. If the task will not run, also that of an
  ///          end with an error.
  bool cancel() const;

  /// Attaches a continuation: `callable(std::exception_ptr)` runs once after the task has ended.
  /// The argument is null, or the exception that `wait` would throw. The continuation runs on a
  /// thread of the executor (runtime_options::continuation_executor), by default on one of up to 8
  /// threads of the runtime. It may block: that delays no task, and no other continuation as long
  /// as one of these threads is free. In single-threaded mode without an executor, the continuation
  /// runs inside a pump or a wait. The same happens if the runtime can start no thread. The
  /// continuation does not run inside `then`, with one exception: if the ticket has outlived its
  /// runtime, `then` runs the continuation at once, on the calling thread. A continuation that
  /// attaches itself again to such a ticket recurses without end.
  ///
  /// A continuation has no ticket and takes no place in a window. If something must wait for it, or
  /// for several tasks, submit a host_task that takes a std::exception_ptr instead. The runtime
  /// prints the exception of a continuation on stderr; it never ends the process.
  ///
  /// No device context is current in a continuation. A continuation may submit, wait for tickets,
  /// and call `then`. It must leave the thread's context stack unchanged, and it must not destroy
  /// the runtime. The ticket may be dropped before the task ends. The destructor of the runtime
  /// first runs all continuations.
  /// @throws invalid_argument  `callable` is null. The call has attached nothing.
  /// @throws used_after_fork
  /// Threads  any, even inside a callable.
  /// Blocks   never.
  /// Cost     two or three allocations and a lock, and when the task ends the wake-up of a thread.
  ///          Tasks without a continuation pay nothing. While continuations wait for tasks, one
  ///          worker polls for ended tasks and follows the device's wait policy. The runtime
  ///          enqueues no host function on the stream.
  template <class F>
  requires std::invocable < std::decay_t<F>
  &, std::exception_ptr > void then(F&& callable) const {
    detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
  }

  /// Returns the device that runs or ran the task, or empty if no device has taken the task yet.
  /// The runtime keeps no record of ended tasks. So the result can also be empty for an ended task
  /// that named no device, unless an earlier call on this ticket returned the device.
  [[nodiscard]] std::optional<device_ordinal> device() const;

 private:
  friend struct detail::access;
  void drop() noexcept;  // the ticket must be valid

  detail::runtime_impl* runtime_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint32_t slot_ = 0;
  mutable std::uint32_t device_ = 0;  // 1 + the device's ordinal; 0 while the device is unknown
};

}  // namespace v0_1
}  // namespace flotilla
