// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules for wait policies: what `automatic` means, and how policies of several devices combine.

#include <chrono>

#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>

namespace flotilla::dispatch {

/// Returns what a policy means now. `automatic` follows the driver's rule for CU_CTX_SCHED_AUTO.
/// Other policies are returned unchanged.
/// @param contexts    The number of contexts in the process.
/// @param processors  The number of processors of the machine.
[[nodiscard]] constexpr wait_policy resolve(wait_policy policy, device_kind kind, unsigned contexts,
                                            unsigned processors) noexcept {
  if (policy != wait_policy::automatic) { return policy; }
  // A spinning thread would occupy a processor that the CPU device needs.
  if (kind == device_kind::cpu) { return wait_policy::yield; }
  return contexts > processors ? wait_policy::yield : wait_policy::spin;
}

/// The set of the policies that several devices have.
class wait_policies {
 public:
  constexpr void add(wait_policy policy) noexcept { bits_ |= bit(policy); }
  constexpr void add(wait_policies const& others) noexcept { bits_ |= others.bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  /// Returns the policy of a thread that waits for all devices in the set. The most eager policy
  /// wins: spin, then yield, then blocking.
  /// @param automatic  The policy that `automatic` stands for. It is also the result for an empty
  /// set.
  [[nodiscard]] constexpr wait_policy together(wait_policy automatic) const noexcept {
    if (empty()) { return automatic; }
    unsigned const all = has(wait_policy::automatic) ? bits_ | bit(automatic) : bits_;
    if ((all & bit(wait_policy::spin)) != 0) { return wait_policy::spin; }
    return (all & bit(wait_policy::yield)) != 0 ? wait_policy::yield : wait_policy::blocking;
  }

 private:
  static constexpr unsigned bit(wait_policy policy) noexcept {
    return 1u << static_cast<unsigned>(policy);
  }
  [[nodiscard]] constexpr bool has(wait_policy policy) const noexcept {
    return (bits_ & bit(policy)) != 0;
  }

  unsigned bits_ = 0;
};

/// Returns the policy of a worker that waits for devices whose combined policy is `together`. A
/// worker never spins for CPU devices, because those devices need the processors.
[[nodiscard]] constexpr wait_policy worker_policy(wait_policy together, device_kind kind) noexcept {
  return together == wait_policy::spin && kind == device_kind::cpu ? wait_policy::yield : together;
}

/// Returns whether an idle worker polls. Under the blocking policy the worker ends instead, because
/// a sleeping worker would occupy a thread of oneTBB.
[[nodiscard]] constexpr bool polls_when_idle(wait_policy worker_policy) noexcept {
  return worker_policy != wait_policy::blocking;
}

/// Returns how long a thread sleeps in one idle round if it has no event to wait for. The time
/// doubles from 20 us to 500 us. A longer sleep delays the end of the wait, but each wake-up costs
/// about 10 us of CPU time.
/// @param round  The number of the idle round, counted from 1.
[[nodiscard]] constexpr std::chrono::microseconds sleep_time(unsigned round) noexcept {
  return std::chrono::microseconds{round < 6 ? 10 << round : 500};
}

}  // namespace flotilla::dispatch
