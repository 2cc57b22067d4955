#pragma once
// The inside of a runtime, for tests of the inside. Contract tests see public headers only.

#include <utility>

#include <flotilla/runtime.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::test {

[[nodiscard]] inline dispatch::runtime_state& inside(runtime const& rt) {
  return dispatch::runtime_state::of(detail::access::impl(rt));
}

/// A runtime that differs from a user's in its tuning.
[[nodiscard]] inline runtime make_runtime(runtime_options options, dispatch::tuning const& tuned) {
  return detail::access::make(*new dispatch::runtime_state(std::move(options), tuned));
}

}  // namespace flotilla::test
