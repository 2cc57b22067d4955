// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/event_fd.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

int event_fd(runtime& owner) {
  auto& state = dispatch::runtime_state::of(detail::access::impl(owner));
  state.usage.check_process();
  return state.events.descriptor();
}

}  // namespace v0_1
}  // namespace flotilla
