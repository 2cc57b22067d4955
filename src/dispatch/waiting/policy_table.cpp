// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/policy_table.hpp"

#include <algorithm>
#include <thread>

#include "base/pause.hpp"
#include "base/processors.hpp"
#include "context/primary_holders.hpp"

namespace flotilla::dispatch {

namespace {
// After this many rounds without progress, a thread with the policy yield sleeps instead.
constexpr unsigned max_yields = 2000;
constexpr std::chrono::microseconds sleep_after_yields{50};
}  // namespace

wait_policy policy_table::resolved(wait_policy policy) const noexcept {
  if (policy != wait_policy::automatic) { return policy; }
  unsigned const processors = base::usable_processors();
  unsigned const contexts =
      gpu_driver_ == nullptr
          ? context::live_contexts()
          : context::contexts_in_process(*gpu_driver_->api, gpu_driver_->devices, processors);
  return resolve(policy, kind_, contexts, processors);
}

wait_policy policy_table::of_task(std::uint32_t device) const noexcept {
  return device == 0 ? all_.together(resolved(wait_policy::automatic)) : by_device_[device - 1];
}

wait_policy policy_table::of_busy_devices(wait_policy automatic) const noexcept {
  wait_policies busy;
  for (unsigned i = 0; i < devices_.size(); ++i) {
    device_driver& device = devices_[i];
    if (device.lanes().has_batches() || device.inbound().needs_drain()) { busy.add(by_device_[i]); }
  }
  return (busy.empty() ? all_ : busy).together(automatic);
}

wait_policy policy_table::of_idle_worker() const noexcept {
  return worker_policy(all_.together(resolved(wait_policy::automatic)), kind_);
}

wait_policy policy_table::of_busy_worker() const noexcept {
  return worker_policy(of_busy_devices(wait_policy::yield), kind_);
}

void policy_table::idle(wait_policy policy, unsigned round,
                        std::optional<std::chrono::steady_clock::time_point> until) const {
  if (policy == wait_policy::spin) {
    for (int i = 0; i < 16; ++i) { base::pause(); }
    // Yield from time to time, because the CPU device may need the processor of this thread.
    if (kind_ == device_kind::cpu && round % 16 == 0) { std::this_thread::yield(); }
    return;
  }
  if (policy == wait_policy::yield && round < max_yields) {
    std::this_thread::yield();
    return;
  }
  std::chrono::nanoseconds sleep =
      policy == wait_policy::yield ? sleep_after_yields : sleep_time(round);
  if (until) {
    std::chrono::nanoseconds const left = *until - std::chrono::steady_clock::now();
    sleep = std::clamp(left, std::chrono::nanoseconds{0}, sleep);
  }
  std::this_thread::sleep_for(sleep);
}

}  // namespace flotilla::dispatch
