// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

/// The state behind a handle of the public interface. `impl` must not be null.
inline dispatch::runtime_state& state_of(detail::runtime_impl* impl) noexcept {
  return dispatch::runtime_state::of(*impl);
}

}  // namespace v0_1
}  // namespace flotilla
