// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/device/peer_access.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

std::string const& refusal(runtime const& owner, device_ordinal from, device_ordinal to) {
  auto const& state = dispatch::runtime_state::of(detail::access::impl(owner));
  unsigned const accessing = state.valid.checked(from);
  return state.peers.refusal(accessing, state.valid.checked(to));
}

}  // namespace

bool can_access_peer(runtime const& owner, device_ordinal from, device_ordinal to) {
  return refusal(owner, from, to).empty();
}

std::string why_no_peer_access(runtime const& owner, device_ordinal from, device_ordinal to) {
  return refusal(owner, from, to);
}

}  // namespace v0_1
}  // namespace flotilla
