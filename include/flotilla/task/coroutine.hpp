#pragma once
/// `co_await` on tickets and completions, in any coroutine type.

#include <concepts>
#include <coroutine>
#include <exception>
#include <utility>

#include <flotilla/completion.hpp>
#include <flotilla/ticket.hpp>

namespace flotilla {

namespace detail {

template <class Of>
class awaiter {
 public:
  explicit awaiter(Of const& of) noexcept : of_{&of} {}
  [[nodiscard]] bool await_ready() const { return has_ended(*of_); }
  void await_suspend(std::coroutine_handle<> suspended) {
    suspended_ = true;
    try {
      // From here on another thread may resume the coroutine, end it, and destroy this awaiter with it.
      static_cast<void>(attach(*of_, make_continuation([this, suspended](std::exception_ptr why) {
        why_ = std::move(why);
        suspended.resume();
      })));
    } catch (...) {  // nothing was attached: the coroutine goes on with the error
      suspended_ = false;
      throw;
    }
  }
  void await_resume() {
    if (!suspended_) {
      of_->wait();  // has ended: throws or returns at once
    } else if (why_ != nullptr) {
      std::rethrow_exception(std::exchange(why_, nullptr));
    }
  }

 private:
  Of const* of_;
  std::exception_ptr why_{};
  bool suspended_ = false;
};

}  // namespace detail

/// Goes on when the task has ended, and throws what `wait` would. A task that has ended does not suspend
/// the coroutine. Else it is resumed as a continuation (see ticket::then): on a worker, or in single-threaded mode
/// inside a pump or wait, with no context current, and whoever resumes it runs it up to its next suspension. What
/// holds for continuations holds for that stretch: it may submit, wait for *tickets* and co_await, and a blocking
/// wait for a completion throws would_deadlock.
///
/// The ticket may be dropped while the coroutine is suspended. The coroutine must not be destroyed while it is
/// suspended here. At the end of the runtime all have been resumed. What leaves the coroutine is its promise's
/// affair, and must not be thrown again out of `unhandled_exception`.
[[nodiscard]] inline detail::awaiter<ticket> operator co_await(ticket const& task) noexcept {
  return detail::awaiter<ticket>{task};
}
[[nodiscard]] inline detail::awaiter<completion> operator co_await(completion const& end) noexcept {
  return detail::awaiter<completion>{end};
}

}  // namespace flotilla
