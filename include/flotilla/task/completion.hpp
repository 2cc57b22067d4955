#pragma once
/// What is to happen when tasks have ended, without a thread that waits for them.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <flotilla/export.hpp>
#include <flotilla/ticket.hpp>

namespace flotilla {

namespace dispatch {
struct completion_state;
}

class completion;

namespace detail {

/// A callable `void(std::exception_ptr)`, owned, its type forgotten.
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

/// `ticket::then` and `completion::then`, for those who extend flotilla. What `of` refers to is not
/// looked at any more once `what` can run: it may destroy it.
FLOTILLA_EXPORT completion attach(ticket const& of, std::unique_ptr<continuation> what);
FLOTILLA_EXPORT completion attach(completion const& of, std::unique_ptr<continuation> what);
/// Whether it has ended; never pumps.
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(ticket const& of);
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(completion const& of);

}  // namespace detail

[[nodiscard]] FLOTILLA_EXPORT completion when_all(std::span<ticket const> tickets);

/// The end of something on the host: of a callable given to `then`, or of all tasks given to `when_all`.
/// Copies name the same end. Dropping it drops nothing: the callable still runs. It may outlive its runtime,
/// and has come by then. It is no task and takes no slot of a window; to order *device work* behind a task, give
/// `task_options::after`, which costs no host thread's attention.
///
/// An error that a callable threw and that nobody asked for (no wait, `then` or co_await of its completion)
/// is printed on stderr when the last copy is dropped; it is never lost, and never ends the process.
///
/// A default-made or moved-from completion names nothing: `valid()` is false and all else throws
/// invalid_argument.
class FLOTILLA_EXPORT completion {
 public:
  completion() noexcept = default;

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

  /// Whether it has come. In single-threaded mode it pumps once first.
  /// @throws used_after_fork
  /// Threads  any.
  /// Blocks   never.
  [[nodiscard]] bool ready() const;

  /// Waits until it has come, and throws what went wrong, as often as it is asked. The caller helps: it
  /// launches tasks, ends them, and runs callables given to `then`, whoever gave them. In between it waits as the devices
  /// that have work are set (see `schedule`).
  /// @throws would_deadlock  It has not come, and the caller is inside a callable or a continuation of this
  ///                         runtime, which must not wait for another. Use `then` or co_await there.
  /// @throws what the callable threw; of `when_all` the error of the task that was seen to fail first
  void wait() const;

  /// The same for a limited time. @return whether it has come; false changes nothing.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(std::chrono::steady_clock::now() +
                      std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  }

  /// As ticket::then: `callable` is given what `wait` would throw, or null.
  template <class F>
    requires std::invocable<std::decay_t<F>&, std::exception_ptr>
  completion then(F&& callable) const {
    return detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
  }

 private:
  friend completion detail::attach(ticket const&, std::unique_ptr<detail::continuation>);
  friend completion detail::attach(completion const&, std::unique_ptr<detail::continuation>);
  friend bool detail::has_ended(completion const&);
  friend completion when_all(std::span<ticket const>);
  explicit completion(std::shared_ptr<dispatch::completion_state> state) noexcept
      : state_{std::move(state)} {}

  std::shared_ptr<dispatch::completion_state> state_;
};

/// Comes when all tasks have ended; its error is that of the task that was seen to fail first. The tickets may
/// be dropped meanwhile. Of no tickets it has come at once.
/// @throws invalid_argument  A ticket names no task; the message says which.
/// @throws wrong_runtime     The tickets are of different runtimes.
/// Cost     an allocation, and one more for each task.
[[nodiscard]] FLOTILLA_EXPORT completion when_all(std::span<ticket const> tickets);

/// Waits until one of the tasks has ended, well or badly, helping as ticket::wait does, and in between as the tasks'
/// devices are set (see `schedule`).
/// @return its index in `tickets`; of several that have ended, the lowest. Ask that ticket for its error.
/// @throws invalid_argument  There is no ticket, or one names no task.
/// @throws wrong_runtime     The tickets are of different runtimes.
/// @throws would_deadlock    None has ended and the caller is inside a callable.
/// Cost     looks at every ticket in turn: three loads each.
[[nodiscard]] FLOTILLA_EXPORT std::size_t wait_any(std::span<ticket const> tickets);
/// The same for a limited time. @return empty: none has ended in it.
[[nodiscard]] FLOTILLA_EXPORT std::optional<std::size_t> wait_any_until(std::span<ticket const> tickets,
                                                                        std::chrono::steady_clock::time_point when);
template <class Rep, class Period>
[[nodiscard]] std::optional<std::size_t> wait_any_for(std::span<ticket const> tickets,
                                                      std::chrono::duration<Rep, Period> time) {
  return wait_any_until(tickets, std::chrono::steady_clock::now() +
                                   std::chrono::ceil<std::chrono::steady_clock::duration>(time));
}

template <class F>
  requires std::invocable<std::decay_t<F>&, std::exception_ptr>
completion ticket::then(F&& callable) const {
  return detail::attach(*this, detail::make_continuation(std::forward<F>(callable)));
}

}  // namespace flotilla
