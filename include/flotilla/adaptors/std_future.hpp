// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tasks as std::future. Optional: <flotilla/flotilla.hpp> does not include this header.

#include <exception>
#include <future>
#include <memory>
#include <utility>

#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Returns a future that becomes ready when the task has ended. `get` throws what
/// `wait` of the task would throw.
///
///     std::future<void> const done = flotilla::to_future(rt.submit(step));
///
/// A wait for the future does not help the runtime, as a wait for a ticket does: workers drive the
/// devices meanwhile. In single-threaded mode the future becomes ready only inside `pump` and waits
/// of the runtime, so pump until it is ready.
/// @throws invalid_argument  The task is empty.
/// @throws used_after_fork
/// Threads   any.
/// Lifetime  The future may outlive the runtime, whose destructor makes it ready.
/// Cost      as ticket::then, and the shared state of the future.
[[nodiscard]] inline std::future<void> to_future(ticket const& task) {
  std::promise<void> promise;
  std::future<void> made = promise.get_future();
  task.then([held = std::move(promise)](std::exception_ptr why) mutable {
    why == nullptr ? held.set_value() : held.set_exception(std::move(why));
  });
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
