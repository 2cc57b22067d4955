// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Host tasks: functions of the host in the order of tasks.

#include <chrono>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <flotilla/detail/continuation.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/stop_option.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// How a host task runs. The members mean the same as those of task_options. A host task has no
/// device and no batch, and never runs twice.
struct host_options {
  std::string_view label{};
  dependency_list after{};
  dependency_list after_end{};
  stop_option stop{};
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  int priority = 0;  ///< of the copies that a flow makes for the task; else without effect
  int rank = task_options::any_rank;
};

template <class F>
class host_task;

namespace detail {

/// The options of a host task for which the program gives none.
FLOTILLA_EXPORT extern host_options const& default_host_options;

/// @throws invalid_argument
[[noreturn]] FLOTILLA_EXPORT void refuse_null_host_function();
[[noreturn]] FLOTILLA_EXPORT void refuse_empty_host_task();

template <class T>
inline constexpr bool is_host_task = false;
template <class F>
inline constexpr bool is_host_task<host_task<F>> = true;

/// The function of a host task, as the library stores it.
template <class F>
struct host_function final : continuation {
  static constexpr bool has_error = !std::invocable<F&>;
  explicit host_function(F&& call) : function(std::move(call)) {}
  void run([[maybe_unused]] std::exception_ptr why) override {
    if constexpr (has_error) {
      function(std::move(why));
    } else {
      function();
    }
  }
  [[nodiscard]] bool takes_errors() const noexcept override { return has_error; }
  F function;
};

/// What a runtime and a flow do with a host task.
struct host_access {
  template <class F>
  [[nodiscard]] static std::unique_ptr<continuation> function_of(F call) {
    return std::make_unique<host_function<F>>(std::move(call));
  }
  /// Takes the function out of a host task. @throws invalid_argument  It is empty.
  template <class F>
  [[nodiscard]] static F take(host_task<F>& from) {
    if (!from.function_) { refuse_empty_host_task(); }
    F taken{std::move(*from.function_)};
    from.function_.reset();
    return taken;
  }
  template <class F>
  static void put_back(host_task<F>& to, F&& function) {
    to.function_.emplace(std::move(function));
  }
  [[nodiscard]] static task_options task_options_of(host_options const& options) {
    task_options made;
    made.label = options.label;
    made.after = options.after;
    made.after_end = options.after_end;
    made.stop = options.stop;
    made.deadline = options.deadline;
    made.priority = options.priority;
    made.rank = options.rank;
    return made;
  }
};

/// What happens while the window is full.
enum class if_full : bool { wait, refuse };

/// Submits a host task, also for bindings of other languages.
/// @param made  Null: the task is posted.
/// @return false if the window is full and the call does not wait. Then, and if the call throws
///         anything but std::bad_alloc, `function` is unchanged.
/// @throws invalid_argument  `options.device` is not empty; and the cases of runtime::submit.
FLOTILLA_EXPORT bool submit_host_function(runtime_impl& to, std::unique_ptr<continuation>& function,
                                          task_options const& options, if_full how, ticket* made);

}  // namespace detail

/// Work for runtime::submit and flow::submit: a function that runs on the host.
///
///     rt.submit(flotilla::host_task([&] { write_file(results); }), {.after = {computed}});
///
/// The function runs on a thread of the executor (runtime_options::continuation_executor) after its
/// predecessors have ended. No context is current, and the function may block. The ticket reports
/// its exception. Tasks can have the host task in `after`. The rules for continuations apply (see
/// ticket::then). A host task that waits for another host task occupies one of the runtime's 8
/// threads meanwhile.
///
/// A function that takes a std::exception_ptr, and cannot be called without arguments, also runs if
/// tasks in `after` have failed, or if the runtime is poisoned. It gets the error of the first
/// failed task in `after`; if none has failed, that of a poisoned runtime, or null:
///
///     rt.submit(host_task([](std::exception_ptr why) { report(why); }), {.after = {a, b}}).wait();
///
/// Its task succeeds unless the function throws, so tasks behind it run. The ticket ends after the
/// function, also on a poisoned runtime. A task that was cancelled, or has missed its deadline,
/// does not call it. Not in flows, whose functions take views.
///
/// The task takes a place in the window of tasks that any device may run. If this window is full,
/// `submit` and `post` throw window_full inside a host task or continuation. A cancelled host task
/// ends after its predecessors have ended.
///
/// Movable, not copyable. A host task that was submitted or moved from is empty: to submit it
/// throws invalid_argument. If a call of a runtime submits nothing, the host task keeps its
/// function; if a call of a flow throws, the function may be lost.
///
/// Threads  same rules as for a std::function.
/// Cost     several allocations and a lock, and the wake-up of a thread.
template <class F>
class host_task {
 public:
  /// @param function  Called once, as function() or function(std::exception_ptr); by a flow, with a
  ///                  view of each of the data.
  /// @throws invalid_argument  `function` is an empty std::function or a null pointer.
  explicit host_task(F function) {
    if constexpr (requires { static_cast<bool>(function == nullptr); }) {
      if (function == nullptr) { detail::refuse_null_host_function(); }
    }
    function_.emplace(std::move(function));
  }
  host_task(host_task&& other) : function_(std::move(other.function_)) { other.function_.reset(); }
  host_task& operator=(host_task&&) = delete;

 private:
  friend struct detail::host_access;
  std::optional<F> function_;
};

namespace detail {

/// See submit_host_function.
template <class F>
bool submit_work(runtime_impl& to, host_task<F>&& what, host_options const& options, if_full how,
                 ticket* made) {
  static_assert(std::invocable<F&> || std::invocable<F&, std::exception_ptr>,
                "the function of a host task is called without arguments, or with a "
                "std::exception_ptr");
  std::unique_ptr<continuation> function = host_access::function_of(host_access::take(what));
  auto const keep = [&] {
    if (function == nullptr) { return; }  // there was no memory
    host_access::put_back(what, std::move(static_cast<host_function<F>&>(*function).function));
  };
  try {
    if (submit_host_function(to, function, host_access::task_options_of(options), how, made)) {
      return true;
    }
  } catch (...) {
    keep();
    throw;
  }
  keep();
  return false;
}

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
