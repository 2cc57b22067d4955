// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What runtime::submit, runtime::try_submit and runtime::post take. Each kind of work has one
// function `submit_work`, so a new kind of work needs no new verb.

#include <concepts>
#include <type_traits>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/host_task.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

struct CUevent_st;

namespace flotilla {
inline namespace v0_1 {
namespace detail {

template <class Make>
class bulk_work;
template <class T>
inline constexpr bool is_bulk = false;
template <class Make>
inline constexpr bool is_bulk<bulk_work<Make>> = true;

/// Submit work, or post it if `made` is null.
/// @return false if the window is full and the call does not wait. Then `what` is unchanged.
/// @throws the exceptions of runtime::submit
FLOTILLA_EXPORT bool submit_work(runtime_impl& to, launch const& what, task_options const& options,
                                 if_full how, ticket* made);
FLOTILLA_EXPORT bool submit_work(runtime_impl& to, memory_op const& what,
                                 task_options const& options, if_full how, ticket* made);
FLOTILLA_EXPORT bool submit_work(runtime_impl& to, callable&& what, task_options const& options,
                                 if_full how, ticket* made);
FLOTILLA_EXPORT bool submit_work(runtime_impl& to, CUevent_st* event, task_options const& options,
                                 if_full how, ticket* made);
/// Defined in bulk.hpp. A bulk waits in any case.
template <class Make>
bool submit_work(runtime_impl& to, bulk_work<Make>&& what, task_options const& options, if_full how,
                 ticket* made);

template <class W>
using options_of =
    std::conditional_t<is_host_task<std::remove_cvref_t<W>>, host_options, task_options>;

template <class W>
[[nodiscard]] options_of<W> const& default_options_of() noexcept {
  if constexpr (is_host_task<std::remove_cvref_t<W>>) {
    return default_host_options;
  } else {
    return default_options;
  }
}

template <class W>
concept work = requires(runtime_impl& to, W&& what, options_of<W> const& options, ticket* made) {
  detail::submit_work(to, std::forward<W>(what), options, if_full::wait, made);
};
template <class W>
concept not_work = !work<W>;

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
