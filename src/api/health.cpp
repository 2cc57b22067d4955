// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/device/health.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

device_health health(runtime const& owner, device_ordinal device) {
  dispatch::runtime_state& state = dispatch::runtime_state::of(detail::access::impl(owner));
  state.usage.check_process();
  unsigned const index = state.valid.checked(device);
  dispatch::runtime_parts const& shared = state.waits.with().shared;
  // A kernel that has faulted never ends, so ask for errors.
  shared.faults.poll_health();
  if (shared.faults.is_poisoned()) { return device_health::faulted; }
  shared.stuck.look();
  if (shared.lost.is_quarantined(index)) { return device_health::quarantined; }
  if (shared.lost.is_lost(index)) { return device_health::restarting; }
  if (state.devices[index].gate().retired() != CUDA_SUCCESS) { return device_health::retired; }
  return shared.stuck.is_stuck(index) ? device_health::stuck : device_health::ok;
}

std::string to_string(device_health value) {
  switch (value) {
    case device_health::ok: return "ok";
    case device_health::stuck: return "stuck";
    case device_health::faulted: return "faulted";
    case device_health::restarting: return "restarting";
    case device_health::quarantined: return "quarantined";
    case device_health::retired: return "retired";
  }
  return "device_health(" + std::to_string(static_cast<int>(value)) + ")";
}

}  // namespace v0_1
}  // namespace flotilla
