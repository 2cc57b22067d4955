// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Host tasks: functions of the host in the order of tasks.

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <flotilla/detail/export.hpp>
#include <flotilla/task/completion.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

namespace detail {

[[noreturn]] FLOTILLA_EXPORT void refuse_null_host_function();
FLOTILLA_EXPORT ticket submit_host_function(runtime& rt, std::unique_ptr<continuation> function,
                                            task_options const& options);

/// Makes the continuation of a host task, whose function takes no argument.
/// @throws invalid_argument  `function` is an empty std::function or a null pointer.
template <class F>
[[nodiscard]] std::unique_ptr<continuation> make_host_function(F&& function) {
  if constexpr (requires { static_cast<bool>(function == nullptr); }) {
    if (function == nullptr) { refuse_null_host_function(); }
  }
  auto call = [held = std::decay_t<F>(std::forward<F>(function))](std::exception_ptr) mutable {
    held();
  };
  return std::make_unique<continuation_of<decltype(call)>>(std::move(call));
}

}  // namespace detail

/// Submits a host task: `function()` runs on a thread of the executor
/// (runtime_options::continuation_executor) after its predecessors have ended. No context is
/// current, and the function may block. The ticket reports its exception. Tasks can have the host
/// task in `after`. The rules for continuations apply (see ticket::then). A host task that waits
/// for another host task occupies one of the runtime's 8 threads meanwhile.
///
/// The task takes a place in the window of tasks that any device may run. `options.priority` and
/// `options.batch` have no effect. A cancelled host task ends after its predecessors have ended.
/// @throws invalid_argument  `function` is null, or `options.device` is not empty; and the cases of
///                           runtime::submit for `options`.
/// @throws wrong_runtime, missing_dependency, runtime_closed, poisoned, used_after_fork,
/// window_full
///         as runtime::submit does. If the call throws, it has submitted nothing.
/// Threads  any.
/// Blocks   only while the window is full, as runtime::submit does. Inside a host task or
///          continuation, a full window throws window_full instead.
/// Cost     several allocations and a lock, and the wake-up of a thread.
template <class F>
requires std::invocable < std::decay_t<F>
& > ticket submit_host(runtime& rt, F&& function,
                       task_options const& options = detail::default_options) {
  return detail::submit_host_function(rt, detail::make_host_function(std::forward<F>(function)),
                                      options);
}

}  // namespace v0_1
}  // namespace flotilla
