// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tasks as asynchronous operations of Boost.Asio. Optional: <flotilla/flotilla.hpp> does not
/// include this header, which needs Boost 1.74 or later.

#include <exception>
#include <utility>  // Boost.Asio 1.74 uses std::exchange without it

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <flotilla/task/completion.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// Starts the operation of `async_wait`.
struct begin_async_wait {
  template <class Handler>
  void operator()(Handler handler, completion const& end) const {
    // The guard keeps the context of the executor running until the handler was called.
    auto guard = boost::asio::make_work_guard(boost::asio::get_associated_executor(handler));
    end.then([held = std::move(handler), work = std::move(guard)](std::exception_ptr why) mutable {
      boost::asio::post(work.get_executor(),
                        [call = std::move(held), error = std::move(why)]() mutable {
                          std::move(call)(std::move(error));
                        });
    });
  }
};

}  // namespace detail

/// Waits for a task or completion without blocking a thread:
///
///     co_await flotilla::async_wait(rt.submit(step), boost::asio::use_awaitable);
///
/// The signature of the handler is void(std::exception_ptr). The argument is null, or what `wait`
/// of the task would throw. So `use_awaitable` and `use_future` throw it. The handler runs on its
/// associated executor, never inside this call. The operation counts as work of that executor. It
/// cannot be cancelled through Asio: cancel the ticket instead.
///
/// In single-threaded mode the handler is called only after a `pump` or a wait of the runtime, so
/// let the event loop pump (docs/dispatch/runtime.md).
/// @throws invalid_argument  The task is empty. The handler is destroyed and not called.
/// @throws used_after_fork
/// Threads   any.
/// Lifetime  The context of the executor must exist until the handler was called. The ticket may be
///           dropped.
/// Cost      as ticket::then and when_all, and a post.
template <class Token>
auto async_wait(completion const& end, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr)>(detail::begin_async_wait{},
                                                                      token, end);
}
template <class Token>
auto async_wait(ticket const& task, Token&& token) {
  // Some tokens copy the arguments of the operation. A completion can be copied, a ticket cannot.
  return async_wait(when_all(task), std::forward<Token>(token));
}

}  // namespace v0_1
}  // namespace flotilla
