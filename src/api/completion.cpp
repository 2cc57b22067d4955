// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/completion.hpp>

#include <string>

#include <flotilla/error/error.hpp>

#include "api/state_of.hpp"
#include "base/access.hpp"
#include "base/process_end.hpp"
#include "dispatch/runtime/runtime_registry.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

using detail::access;
using state_ptr = std::shared_ptr<detail::completion_state>;

state_ptr const& checked(state_ptr const& state) {
  if (state == nullptr) {
    throw invalid_argument("the completion is empty: it was default-constructed or moved from");
  }
  return state;
}

detail::runtime_impl& checked_runtime(ticket const& task) {
  if (!task.valid()) {
    throw invalid_argument("the ticket names no task: it was default-constructed or moved from");
  }
  return *access::impl(task);
}

/// Returns the runtime of all these tasks, or null if the runtime and all of its tickets are gone.
dispatch::runtime_state* common_runtime(dependency_list const& tasks, std::string const& call) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (access::is_recorded(tasks[i])) {
      throw invalid_argument(call + ": entry " + std::to_string(i) +
                             " names a recorded task; use the ticket of a replay instead");
    }
    if (tasks[i].runtime == 0) {
      throw invalid_argument(call + ": entry " + std::to_string(i) +
                             " names no task; its ticket or id was empty or moved from");
    }
    if (tasks[i].runtime != tasks[0].runtime) {
      throw wrong_runtime(call + ": entry " + std::to_string(i) +
                          " and entry 0 belong to different runtimes");
    }
  }
  return dispatch::runtime_registry::find(tasks[0].runtime);
}

/// Tells the checks of the runtime that the tasks of a done completion have ended.
void note_observation(completion const& done) {
  detail::completion_state const& state = *access::state(done);
  if (state.tasks.empty()) { return; }                        // as always without an order check
  dispatch::continuation_table::use const use{*state.table};  // the runtime must not end meanwhile
  if (use.over()) { return; }
  for (task_id const& each : state.tasks) { state_of(access::impl(done)).checks->observed(each); }
}

std::optional<std::size_t> wait_for_first(
    dependency_list const& tasks, std::optional<std::chrono::steady_clock::time_point> until) {
  if (tasks.empty()) {
    throw invalid_argument("wait_any: the list of tasks is empty, but must have at least one task");
  }
  dispatch::runtime_state* const runtime = common_runtime(tasks, "wait_any");
  // If the runtime is gone, all of its tasks have ended.
  return runtime == nullptr ? std::size_t{0} : runtime->wait_any(tasks.ids(), until);
}

bool wait_for_end(completion const& end,
                  std::optional<std::chrono::steady_clock::time_point> until) {
  detail::completion_state& state = *checked(access::state(end));
  // Use the runtime only if the completion is not done: after the completion is done, the runtime
  // may be gone.
  if (!state.done.load(std::memory_order_acquire) &&
      !state_of(access::impl(end)).wait(state, until)) {
    return false;
  }
  note_observation(end);
  state.asked.store(true, std::memory_order_relaxed);
  if (state.error != nullptr) {
    base::yield_to_process_end();
    std::rethrow_exception(state.error);
  }
  return true;
}

}  // namespace

namespace detail {

continuation::~continuation() = default;

void refuse_null_continuation() {
  throw invalid_argument("then: the callable is null; it must be callable with an exception_ptr");
}

completion attach(ticket const& of, std::unique_ptr<continuation> what) {
  runtime_impl& runtime = checked_runtime(of);
  return access::make(&runtime, state_of(&runtime).continuations.after(of.id(), std::move(what)));
}

completion attach(completion const& of, std::unique_ptr<continuation> what) {
  // Copy the members of `of`, because `what` may run and destroy `of` before this function returns.
  state_ptr const state = checked(access::state(of));
  runtime_impl* const runtime = access::impl(of);
  auto const* const service = runtime == nullptr ? nullptr : &state_of(runtime).continuations;
  return access::make(runtime, dispatch::continuations::after(state, service, std::move(what)));
}

bool has_ended(ticket const& of) {
  dispatch::runtime_state& runtime = state_of(&checked_runtime(of));
  runtime.usage.check_process();
  return runtime.query.has_ended(of.id());
}

bool has_ended(completion const& of) {
  return checked(access::state(of))->done.load(std::memory_order_acquire);
}

}  // namespace detail

bool completion::ready() const {
  bool ended = detail::has_ended(*this);
  if (!ended) {
    state_of(access::impl(*this)).pump_if_single_threaded();
    ended = detail::has_ended(*this);
  }
  if (ended) { note_observation(*this); }
  return ended;
}

void completion::wait() const { wait_for_end(*this, std::nullopt); }

bool completion::wait_until(std::chrono::steady_clock::time_point when) const {
  return wait_for_end(*this, when);
}

completion when_all(dependency_list const& tasks) {
  dispatch::runtime_state* const runtime =
      tasks.empty() ? nullptr : common_runtime(tasks, "when_all");
  if (runtime == nullptr) {
    auto const done = std::make_shared<detail::completion_state>(nullptr);
    done->done.store(true, std::memory_order_release);
    return access::make(nullptr, done);
  }
  return access::make(runtime, runtime->continuations.after_all(tasks.ids()));
}

std::size_t wait_any(dependency_list const& tasks) { return *wait_for_first(tasks, std::nullopt); }

std::optional<std::size_t> wait_any_until(dependency_list const& tasks,
                                          std::chrono::steady_clock::time_point when) {
  return wait_for_first(tasks, when);
}

}  // namespace v0_1
}  // namespace flotilla
