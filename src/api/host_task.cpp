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
  throw invalid_argument("submit_host: the function is null, but a host task needs one to run");
}

ticket submit_host_function(runtime& rt, std::unique_ptr<continuation> function,
                            task_options const& options) {
  ticket made;
  dispatch::runtime_state::of(access::impl(rt))
      .host.submit(function, options, dispatch::when_full::wait, &made);
  return made;
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
