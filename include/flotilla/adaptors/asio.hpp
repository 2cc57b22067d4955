// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tasks as asynchronous operations of Boost.Asio. Optional: <flotilla/flotilla.hpp> does not
/// include this header, which needs Boost 1.74 or later.

#include <exception>
#include <memory>
#include <utility>  // Boost.Asio 1.74 uses std::exchange without it

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// Starts the operation of `async_wait`. Some tokens copy its arguments, and start it later.
struct begin_async_wait {
  template <class Handler>
  void operator()(Handler handler, std::shared_ptr<ticket const> const& task) const {
    // The guard keeps the context of the executor running until the handler was called.
    auto guard = boost::asio::make_work_guard(boost::asio::get_associated_executor(handler));
    task->then(
        [held = std::move(handler), work = std::move(guard)](std::exception_ptr why) mutable {
          boost::asio::post(work.get_executor(),
                            [call = std::move(held), error = std::move(why)]() mutable {
                              std::move(call)(std::move(error));
                            });
        });
  }
};

}  // namespace detail

/// Waits for a task without blocking a thread:
///
///     co_await flotilla::async_wait(rt.submit(step), boost::asio::use_awaitable);
///
/// The signature of the handler is void(std::exception_ptr). The argument is null, or what `wait`
/// of the task would throw. So `use_awaitable` and `use_future` throw it. The handler runs on its
/// associated executor, never inside this call. The operation counts as work of that executor. It
/// cannot be cancelled through Asio: submit the task with a token (task_options::stop) instead.
///
/// In single-threaded mode the handler is called only after a `pump` or a wait of the runtime, so
/// let the event loop pump (docs/dispatch/runtime.md).
/// @throws invalid_argument  The task is empty. The handler is destroyed and not called.
/// @throws used_after_fork
/// Threads   any.
/// Lifetime  The context of the executor must exist until the handler was called.
/// Cost      as ticket::then, an allocation, and a post.
template <class Token>
auto async_wait(ticket task, Token&& token) {
  static_cast<void>(detail::has_ended(task));  // refuses an empty ticket
  return boost::asio::async_initiate<Token, void(std::exception_ptr)>(
      detail::begin_async_wait{}, token, std::make_shared<ticket const>(std::move(task)));
}

}  // namespace v0_1
}  // namespace flotilla
