// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Waits for the first of several tasks. To wait for all of them, submit a host task behind them
/// that takes a std::exception_ptr: its ticket ends after all of them, even if one fails.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>

#include <flotilla/detail/deadline.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/task/dependency_list.hpp>

namespace flotilla {
inline namespace v0_1 {

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
requires(sizeof...(Tasks) > 0 && (std::convertible_to<Tasks const&, dependency_list::item> && ...))
    [[nodiscard]] std::size_t wait_any(Tasks const&... tasks) {
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

}  // namespace v0_1
}  // namespace flotilla
