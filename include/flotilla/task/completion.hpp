// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Completions. They run host code after tasks have ended. No thread has to wait for the tasks.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/deadline.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class completion;

namespace detail {

struct completion_state;

/// Owns a callable with the signature `void(std::exception_ptr)` and hides the type of the
/// callable.
struct FLOTILLA_EXPORT continuation {
  continuation() = default;
  continuation(continuation const&) = delete;
  continuation& operator=(continuation const&) = delete;
  virtual ~continuation();
  virtual void run(std::exception_ptr why) = 0;
};

template <class F>
struct continuation_of final : continuation {
  explicit continuation_of(F&& callable) : held(std::move(callable)) {}
  explicit continuation_of(F const& callable) : held(callable) {}
  void run(std::exception_ptr why) override { held(std::move(why)); }
  F held;
};

[[noreturn]] FLOTILLA_EXPORT void refuse_null_continuation();

/// @throws invalid_argument  `callable` is an empty std::function or a null pointer.
template <class F>
[[nodiscard]] std::unique_ptr<continuation> make_continuation(F&& callable) {
  if constexpr (requires { static_cast<bool>(callable == nullptr); }) {
    if (callable == nullptr) { refuse_null_continuation(); }
  }
  return std::make_unique<continuation_of<std::decay_t<F>>>(std::forward<F>(callable));
}

/// These functions implement `then`. Before they return, `callable` may run, and may destroy `task`
/// or `end`.
FLOTILLA_EXPORT completion attach(ticket const& task, std::unique_ptr<continuation> callable);
FLOTILLA_EXPORT completion attach(completion const& end, std::unique_ptr<continuation> callable);
/// These functions return whether the task or completion has ended. They never pump.
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(ticket const& task);
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(completion const& end);

template <class... Tasks>
concept tasks = (std::convertible_to<Tasks const&, dependency_list::item> && ...);

}  // namespace detail

/// Represents the end of a continuation (a callable given to `then`) or of all tasks given to
/// `when_all`. Copies of a completion are equivalent. A continuation runs even if its completion is
/// dropped. A completion may outlive its runtime, which ends only after the completion is done. A
/// completion is not a task and takes no slot of a window. To run *device work* after a task, use
/// `task_options::after`, which needs no host thread.
///
/// If a continuation throws, the runtime prints the error on stderr when the last copy of its
/// completion is dropped. It prints nothing if a wait, `then` or co_await has obtained the error
/// from the completion or will obtain it. An exception never ends the process.
///
/// A default-constructed or moved-from completion is empty: `valid()` is false, and every other
/// call throws invalid_argument.
class FLOTILLA_EXPORT completion {
 public:
  completion() noexcept = default;

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

  /// Returns whether the completion is done. In single-threaded mode the call may pump once.
  /// @throws used_after_fork
  /// Threads  any.
  /// Blocks   never.
  [[nodiscard]] bool ready() const;

  /// Waits until the completion is done. Every call throws the error of the completion, if there is
  /// one: the exception of the callable or, for `when_all`, the error of the task whose failure was
  /// seen first.
  /// The caller helps while it waits: it launches and retires tasks. In single-threaded mode it
  /// also runs continuations, no matter which thread attached them, or gives them to the executor.
  /// While there is nothing to do, the wait policies of the devices with open tasks determine how
  /// the caller waits (see wait_policy).
  /// @throws would_deadlock  The completion is not done, and the caller is inside a callable or a
  ///                         continuation of this runtime. There, use `then` or co_await instead.
  void wait() const;

  /// Waits as `wait` does, but only until `when`. @return Whether the completion is done.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(detail::deadline_after(time));
  }

  /// Runs `callable(std::exception_ptr)` once after the completion is done. The argument is null,
  /// or the exception that `wait` would throw. The rules of ticket::then apply.
  template <class F>
  requires std::invocable < std::decay_t<F>
  &, std::exception_ptr > completion then(F&& callable) const {
    return detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
  }

 private:
  friend struct detail::access;
  completion(detail::runtime_impl* runtime,
             std::shared_ptr<detail::completion_state> state) noexcept
      : runtime_{runtime}, state_{std::move(state)} {}

  // The runtime. It exists at least until the completion is done. Null if the completion was done
  // from the beginning.
  detail::runtime_impl* runtime_ = nullptr;
  std::shared_ptr<detail::completion_state> state_;
};

/// Returns a completion that is done when all `tasks` have ended. Its error is the error of the
/// task whose failure was seen first. The tickets may be dropped before the tasks end. If `tasks`
/// is empty, the completion is done at once.
/// @throws invalid_argument  An entry names no task. The message has the index of the entry.
/// @throws wrong_runtime     The tasks belong to different runtimes.
/// Lifetime  If `tasks` contains ids, the runtime of the tasks must not end during the call.
/// Cost      one allocation, and one more for each task.
[[nodiscard]] FLOTILLA_EXPORT completion when_all(dependency_list const& tasks);
template <class... Tasks>
requires(sizeof...(Tasks) > 0 && detail::tasks<Tasks...>) [[nodiscard]] completion
    when_all(Tasks const&... tasks) {
  return when_all(dependency_list{dependency_list::item{tasks}...});
}

/// Waits until one of the tasks has ended, successfully or not. The caller helps as in
/// ticket::wait. While there is nothing to do, the wait policies of the tasks' devices determine
/// how the caller waits (see wait_policy).
/// @return The lowest index of a task that has ended. The ticket of this task has the error. The
///         same task may occur several times.
/// @throws invalid_argument  `tasks` is empty, or an entry names no task.
/// @throws wrong_runtime     The tasks belong to different runtimes.
/// @throws would_deadlock    No task has ended, and the caller is inside a callable.
/// Lifetime  If `tasks` contains ids, the runtime of the tasks must not end during the call.
/// Cost      The call polls every task in turn. Each poll takes three loads.
[[nodiscard]] FLOTILLA_EXPORT std::size_t wait_any(dependency_list const& tasks);
template <class... Tasks>
requires(sizeof...(Tasks) > 0 && detail::tasks<Tasks...>) [[nodiscard]] std::size_t
    wait_any(Tasks const&... tasks) {
  return wait_any(dependency_list{dependency_list::item{tasks}...});
}
/// Waits as `wait_any` does, but only until `when`. @return Empty if no task has ended.
[[nodiscard]] FLOTILLA_EXPORT std::optional<std::size_t> wait_any_until(
    dependency_list const& tasks, std::chrono::steady_clock::time_point when);
template <class Rep, class Period>
[[nodiscard]] std::optional<std::size_t> wait_any_for(dependency_list const& tasks,
                                                      std::chrono::duration<Rep, Period> time) {
  return wait_any_until(tasks, detail::deadline_after(time));
}

template <class F>
requires std::invocable < std::decay_t<F>
&, std::exception_ptr > completion ticket::then(F&& callable) const {
  return detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
}

}  // namespace v0_1
}  // namespace flotilla
