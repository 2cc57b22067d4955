#pragma once
/// `co_await` on tickets and completions, in any coroutine type.

#include <concepts>
#include <coroutine>
#include <exception>
#include <utility>

#include <flotilla/task/completion.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

template <class Of>
class awaiter {
 public:
  explicit awaiter(Of const& of) noexcept : of_{&of} {}
  [[nodiscard]] bool await_ready() const { return has_ended(*of_); }
  void await_suspend(std::coroutine_handle<> suspended) {
    suspended_ = true;
    try {
      // From here on another thread may resume the coroutine, which may end and destroy this
      // awaiter.
      static_cast<void>(attach(*of_, make_continuation([this, suspended](std::exception_ptr why) {
        why_ = std::move(why);
        suspended.resume();
      })));
    } catch (...) {  // nothing was attached: the coroutine continues with the error
      suspended_ = false;
      throw;
    }
  }
  void await_resume() {
    if (!suspended_) {
      of_->wait();  // it has ended, so this throws or returns at once
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

/// Resumes when the task has ended, and throws what `wait` would throw. If the task has ended
/// already, the coroutine is not suspended. Otherwise it is resumed as a continuation (see
/// ticket::then): on a worker, or in single-threaded mode inside a pump or wait, with no context
/// current. The resuming thread runs it up to its next suspension. Until then the rules of
/// continuations hold: it may submit, wait for *tickets* and co_await, and a blocking wait for a
/// completion throws would_deadlock.
///
/// The ticket may be dropped while the coroutine is suspended. The coroutine must not be destroyed
/// while it is suspended here. The end of the runtime resumes all of them first. Exceptions that
/// leave the coroutine go to its promise, whose `unhandled_exception` must not throw them again.
[[nodiscard]] inline detail::awaiter<ticket> operator co_await(ticket const& task) noexcept {
  return detail::awaiter<ticket>{task};
}
[[nodiscard]] inline detail::awaiter<completion> operator co_await(completion const& end) noexcept {
  return detail::awaiter<completion>{end};
}

}  // namespace v0_1
}  // namespace flotilla
