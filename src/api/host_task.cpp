// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/host_task.hpp>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

void refuse_null_host_function() {
  throw invalid_argument("host_task: the function is null, but a host task needs one to run");
}

void refuse_empty_host_task() {
  throw invalid_argument("the host task is empty: it was submitted before, or was moved from");
}

bool submit_host_function(runtime_impl& to, std::unique_ptr<continuation>& function,
                          task_options const& options, if_full how, ticket* made) {
  auto const when_full =
      how == if_full::wait ? dispatch::when_full::wait : dispatch::when_full::collect;
  return dispatch::runtime_state::of(to).host.submit(function, options, when_full, made);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
