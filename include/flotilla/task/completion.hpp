#pragma once
/// Host code that runs after tasks, without a thread that waits for them.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class completion;

namespace detail {

struct completion_state;

/// Owns a callable of type `void(std::exception_ptr)` and hides its type.
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

/// @throws invalid_argument  An empty std::function or a null pointer.
template <class F>
[[nodiscard]] std::unique_ptr<continuation> make_continuation(F&& callable) {
  if constexpr (requires { static_cast<bool>(callable == nullptr); }) {
    if (callable == nullptr) { refuse_null_continuation(); }
  }
  return std::make_unique<continuation_of<std::decay_t<F>>>(std::forward<F>(callable));
}

/// Both forms of `then`. `callable` may destroy the ticket or completion as soon as it can run.
FLOTILLA_EXPORT completion attach(ticket const& task, std::unique_ptr<continuation> callable);
FLOTILLA_EXPORT completion attach(completion const& end, std::unique_ptr<continuation> callable);
/// Whether the task or completion has ended. Never pumps.
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(ticket const& task);
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(completion const& end);

template <class... Tasks>
concept tasks = (std::convertible_to<Tasks const&, dependency_list::item> && ...);

}  // namespace detail

/// The end of something on the host: of a callable given to `then`, or of all tasks given to
/// `when_all`. Copies name the same end. The callable runs even if its completion is dropped. A
/// completion may outlive its runtime, and is done by then. It is not a task and takes no slot of a
/// window. To order *device work* after a task use `task_options::after`, which needs no host
/// thread.
///
/// If a callable throws and nobody asks for its error (no wait, `then` or co_await of its
/// completion), the error is printed on stderr when the last copy is dropped. It never ends the
/// process.
///
/// A default-constructed or moved-from completion names nothing: `valid()` is false, and every
/// other call throws invalid_argument.
class FLOTILLA_EXPORT completion {
 public:
  completion() noexcept = default;

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

  /// Whether it is done. In single-threaded mode it pumps once first.
  /// @throws used_after_fork
  /// Threads  any.
  /// Blocks   never.
  [[nodiscard]] bool ready() const;

  /// Waits until it is done, and throws its error if it has one. Each call throws it again. The
  /// caller helps: it launches and retires tasks, and runs continuations, no matter which thread
  /// attached them. In between it waits as the devices with open tasks are set (see wait_policy).
  /// @throws would_deadlock  It is not done, and the caller is inside a callable or a continuation
  ///                         of this runtime, which must not wait for another one. Use `then` or
  ///                         co_await there.
  /// @throws what the callable threw; of `when_all` the error of the task that was first seen to
  ///         fail
  void wait() const;

  /// The same for a limited time. @return whether it is done. If not, nothing has changed.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(std::chrono::steady_clock::now() +
                      std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  }

  /// As ticket::then: `callable` gets null, or what `wait` would throw.
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

  detail::runtime_impl* runtime_ = nullptr;  // exists until this is done; null: it is done
  std::shared_ptr<detail::completion_state> state_;
};

/// A completion of all these tasks. Its error is that of the task that was first seen to fail. The
/// tickets may be dropped meanwhile. Without tasks it is done at once.
/// @throws invalid_argument  An entry names no task; the message says which.
/// @throws wrong_runtime     The tasks belong to different runtimes.
/// Lifetime  If tasks are named by ids, their runtime must live until this returns, or have ended
///           before.
/// Cost      an allocation, and one more for each task.
[[nodiscard]] FLOTILLA_EXPORT completion when_all(dependency_list const& tasks);
template <class... Tasks>
requires(sizeof...(Tasks) > 0 && detail::tasks<Tasks...>) [[nodiscard]] completion
    when_all(Tasks const&... tasks) {
  return when_all(dependency_list{dependency_list::item{tasks}...});
}

/// Waits until one of the tasks has ended, successfully or not. It helps as ticket::wait does, and
/// waits as the tasks' devices are set (see wait_policy).
/// @return its index; if several have ended, the lowest. Ask that ticket for its error.
/// @throws invalid_argument  There is no task, or an entry names none.
/// @throws wrong_runtime     The tasks belong to different runtimes.
/// @throws would_deadlock    None has ended, and the caller is inside a callable.
/// Lifetime  As when_all.
/// Cost      It polls every task in turn: three loads each.
[[nodiscard]] FLOTILLA_EXPORT std::size_t wait_any(dependency_list const& tasks);
template <class... Tasks>
requires(sizeof...(Tasks) > 0 && detail::tasks<Tasks...>) [[nodiscard]] std::size_t
    wait_any(Tasks const&... tasks) {
  return wait_any(dependency_list{dependency_list::item{tasks}...});
}
/// The same for a limited time. @return empty: none has ended.
[[nodiscard]] FLOTILLA_EXPORT std::optional<std::size_t> wait_any_until(
    dependency_list const& tasks, std::chrono::steady_clock::time_point when);
template <class Rep, class Period>
[[nodiscard]] std::optional<std::size_t> wait_any_for(dependency_list const& tasks,
                                                      std::chrono::duration<Rep, Period> time) {
  return wait_any_until(tasks, std::chrono::steady_clock::now() +
                                   std::chrono::ceil<std::chrono::steady_clock::duration>(time));
}

template <class F>
requires std::invocable < std::decay_t<F>
&, std::exception_ptr > completion ticket::then(F&& callable) const {
  return detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
}

}  // namespace v0_1
}  // namespace flotilla
