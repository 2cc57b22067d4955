// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `co_await` on tickets, in any coroutine type.

#include <coroutine>
#include <exception>
#include <utility>

#include <flotilla/detail/continuation.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

class awaiter {
 public:
  explicit awaiter(ticket const& of) noexcept : of_{&of} {}
  [[nodiscard]] bool await_ready() const { return has_ended(*of_); }
  void await_suspend(std::coroutine_handle<> suspended) {
    suspended_ = true;
    try {
      // As soon as the continuation is attached, another thread may resume the coroutine. The
      // coroutine may then end and destroy this awaiter.
      attach(*of_, make_continuation([this, suspended](std::exception_ptr why) {
        why_ = std::move(why);
        suspended.resume();
      }));
    } catch (...) {  // no continuation is attached, and co_await throws the error
      suspended_ = false;
      throw;
    }
  }
  void await_resume() {
    if (!suspended_) {
      of_->wait();  // the task has ended, so this returns or throws at once
    } else if (why_ != nullptr) {
      std::rethrow_exception(std::exchange(why_, nullptr));
    }
  }

 private:
  ticket const* of_;
  std::exception_ptr why_{};
  bool suspended_ = false;
};

}  // namespace detail

/// Suspends the coroutine until the task has ended, and then throws the error that `wait` would
/// throw, if there is one. If the task has already ended, the coroutine is not suspended. To await
/// several tasks of which one may fail, await a host task behind them (wait_any.hpp).
///
/// A continuation resumes the suspended coroutine (see ticket::then). The resuming thread runs the
/// coroutine up to its next suspension. During this time the rules of continuations apply: the
/// coroutine may submit, wait for tickets and co_await.
///
/// The ticket may be dropped while the coroutine is suspended. The coroutine must not be destroyed
/// while it is suspended at this co_await. The destructor of the runtime first resumes all
/// suspended coroutines. The `unhandled_exception` of the coroutine's promise must not rethrow the
/// exception.
[[nodiscard]] inline detail::awaiter operator co_await(ticket const& task) noexcept {
  return detail::awaiter{task};
}

}  // namespace v0_1
}  // namespace flotilla
