#pragma once
// The wait policies of a runtime's devices, and one idle round by them.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "dispatch/device/device_set.hpp"
#include "dispatch/waiting/wait_policy.hpp"

namespace flotilla::dispatch {

/// Policies are added while the runtime starts, as granted by the driver. Afterwards any thread
/// calls the rest.
class policy_table {
 public:
  explicit policy_table(device_set const& devices, device_kind kind) noexcept
      : devices_(devices), kind_(kind) {}
  /// Adds the next device's policy.
  void add(wait_policy granted) {
    by_device_.push_back(granted);
    all_.add(granted);
  }

  /// The policy, with `automatic` replaced by its present meaning.
  [[nodiscard]] wait_policy resolved(wait_policy policy) const noexcept;
  /// The policy for a task of a device.
  /// @param device  In the form that slots use: 1 + the device; 0: any device may take the task.
  [[nodiscard]] wait_policy of_task(std::uint32_t device) const noexcept;
  /// The policy for all devices that have work; for all devices if none has.
  [[nodiscard]] wait_policy of_busy_devices(wait_policy automatic) const noexcept;
  /// The policy of an idle worker: the most eager one of any device.
  [[nodiscard]] wait_policy of_idle_worker() const noexcept;
  /// The policy of a worker that waits for busy devices. No thread waits for the worker, so
  /// automatic means yield.
  [[nodiscard]] wait_policy of_busy_worker() const noexcept;

  /// Spins, yields or sleeps once.
  /// @param round  The count of idle rounds, this one included.
  /// @param until  The end of the wait. A sleep ends no later.
  void idle(wait_policy policy, unsigned round,
            std::optional<std::chrono::steady_clock::time_point> until = std::nullopt) const;

 private:
  device_set const& devices_;
  device_kind const kind_;
  std::vector<wait_policy> by_device_;
  wait_policies all_;
};

}  // namespace flotilla::dispatch
