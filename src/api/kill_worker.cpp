// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace testing {

void kill_worker(runtime const& rt, device_ordinal device) {
  dispatch::runtime_state& state = dispatch::runtime_state::of(detail::access::impl(rt));
  unsigned const index = state.valid.checked(device);
  dispatch::lost_devices& isolated = state.waits.with().shared.lost;
  if (!isolated.is_isolated(index)) {
    throw invalid_argument("kill_worker: device " + std::to_string(device.value) +
                           " has no worker process, because it is not isolated");
  }
  isolated.crash(index);
}

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla
