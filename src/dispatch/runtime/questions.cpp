// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of runtime_state that answer questions.
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::dispatch {

device_settings runtime_state::effective_settings(unsigned device) const {
  device_settings settings = contexts_[device].context.effective();
  settings.window = tasks_.pool_at(device).window();
  settings.lanes = devices[device].lanes().launch_lanes();
  return settings;
}

settings_report runtime_state::report_settings(unsigned device) const {
  return context::report(chosen_.devices[device], requests_[device].settings,
                         effective_settings(device), contexts_[device].context.refused());
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
