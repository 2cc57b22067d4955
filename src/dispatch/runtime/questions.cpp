// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of runtime_state that answer questions.
#include "dispatch/runtime/runtime_state.hpp"

#include <string>

#include "context/kernel_waits.hpp"
#include "dispatch/runtime/options.hpp"

namespace flotilla::dispatch {

device_settings runtime_state::effective_settings(unsigned device) const {
  device_settings settings = contexts_[device].context.effective();
  settings.window = tasks_.pool_at(device).window();
  settings.lanes = devices[device].lanes().launch_lanes();
  settings.peer_access =
      requests_[device].settings.peer_access.value_or(true) && peers.refusals_of(device).empty();
  device_settings const& asked = requests_[device].settings;
  settings.device_side_waits = context::kernels_may_wait(asked);
  settings.restart_intensity = asked.restart_intensity.value_or(default_restart_intensity);
  settings.restart_period_ms = asked.restart_period_ms.value_or(default_restart_period_ms);
  settings.restart_back_off_ms = asked.restart_back_off_ms.value_or(0);
  settings.stuck_after = asked.stuck_after.value_or(std::chrono::milliseconds::zero());
  return settings;
}

settings_report runtime_state::report_settings(unsigned device) const {
  device_settings const& asked = requests_[device].settings;
  settings_report made = context::report(chosen_.devices[device], asked, effective_settings(device),
                                         contexts_[device].context.refused());
  std::string const refused = peers.refusals_of(device);
  if (refused.empty() || asked.peer_access == false) { return made; }
  for (setting_outcome& each : made.outcomes) {
    if (each.name != "peer_access") { continue; }
    each.note = refused;
    if (asked.peer_access) { each.kind = setting_outcome::kinds::refused; }
  }
  return made;
}

device_counters runtime_state::counters(unsigned device) const {
  // An ended task is counted only after a thread has retired the task's batch. If no other thread
  // does so, a thread that polls the counters waits forever. So retire batches here.
  device_driver& driver = devices[device];
  if (driver.lanes().has_batches() && !driver.inbound().needs_drain() && !driver.gate().held()) {
    devices.collect_if_free(driver);
  }
  return driver.counters();
}

recorder::config runtime_state::recording_parts() const noexcept {
  return {shared_, devices, usage, valid, slots, tasks, operations, checks.get()};
}

}  // namespace flotilla::dispatch
