// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unit tests access the internals of a runtime through this file. Contract tests must not use this
// file.

#include <utility>

#include <flotilla/runtime.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::test {

[[nodiscard]] inline dispatch::runtime_state& inside(runtime const& rt) {
  return dispatch::runtime_state::of(detail::access::impl(rt));
}

/// Creates a runtime with a tuning other than the default.
[[nodiscard]] inline runtime make_runtime(runtime_options options, dispatch::tuning const& tuned) {
  return detail::access::make(*new dispatch::runtime_state(std::move(options), tuned));
}

}  // namespace flotilla::test
