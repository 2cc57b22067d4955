// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/wait_any.hpp>

#include <string>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

using detail::access;

/// Returns the runtime of all these tasks, or null if the runtime and all of its tickets are gone.
dispatch::runtime_state* common_runtime(dependency_list const& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (access::is_recorded(tasks[i])) {
      throw invalid_argument("wait_any: entry " + std::to_string(i) +
                             " names a recorded task; use the ticket of a replay instead");
    }
    if (tasks[i].runtime == 0) {
      throw invalid_argument("wait_any: entry " + std::to_string(i) +
                             " names no task; its ticket or id was empty or moved from");
    }
    if (tasks[i].runtime != tasks[0].runtime) {
      throw wrong_runtime("wait_any: entry " + std::to_string(i) +
                          " and entry 0 belong to different runtimes");
    }
  }
  return dispatch::runtime_registry::find(tasks[0].runtime);
}

std::optional<std::size_t> wait_for_first(
    dependency_list const& tasks, std::optional<std::chrono::steady_clock::time_point> until) {
  if (tasks.empty()) {
    throw invalid_argument("wait_any: the list of tasks is empty, but must have at least one task");
  }
  dispatch::runtime_state* const runtime = common_runtime(tasks);
  // If the runtime is gone, all of its tasks have ended.
  return runtime == nullptr ? std::size_t{0} : runtime->wait_any(tasks.ids(), until);
}

}  // namespace

std::size_t wait_any(dependency_list const& tasks) { return *wait_for_first(tasks, std::nullopt); }

std::optional<std::size_t> wait_any_until(dependency_list const& tasks,
                                          std::chrono::steady_clock::time_point when) {
  return wait_for_first(tasks, when);
}

}  // namespace v0_1
}  // namespace flotilla
