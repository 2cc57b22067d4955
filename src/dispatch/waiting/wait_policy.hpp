#pragma once
// How threads wait, given the policies of the devices that they wait for. Rules without state.

#include <chrono>

#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>

namespace flotilla::dispatch {

/// The present meaning of a policy. `automatic` follows the driver's rule for CU_CTX_SCHED_AUTO;
/// every other policy means itself.
/// @param contexts    in the process, a count
/// @param processors  of the machine, a count
[[nodiscard]] constexpr wait_policy resolve(wait_policy policy, device_kind kind, unsigned contexts,
                                            unsigned processors) noexcept {
  if (policy != wait_policy::automatic) { return policy; }
  // A CPU device computes on the processors that a spinning thread would keep busy.
  if (kind == device_kind::cpu) { return wait_policy::yield; }
  return contexts > processors ? wait_policy::yield : wait_policy::spin;
}

/// The policies of several devices.
class wait_policies {
 public:
  constexpr void add(wait_policy policy) noexcept { bits_ |= bit(policy); }
  constexpr void add(wait_policies const& others) noexcept { bits_ |= others.bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  /// How a thread waits for all of them. The most eager policy wins: it spins if any device spins,
  /// else it yields if any yields, and sleeps only if all of them block.
  /// @param automatic  The meaning of `automatic`; also the answer if there are no devices.
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

/// How a worker waits for devices with that policy. It never spins for CPU devices, which need the
/// processor.
[[nodiscard]] constexpr wait_policy worker_policy(wait_policy together, device_kind kind) noexcept {
  return together == wait_policy::spin && kind == device_kind::cpu ? wait_policy::yield : together;
}

/// Whether an idle worker stays and polls. With a blocking policy it ends instead, because a
/// sleeping worker would occupy the oneTBB thread that is needed when there is work.
[[nodiscard]] constexpr bool polls_when_idle(wait_policy worker_policy) noexcept {
  return worker_policy != wait_policy::blocking;
}

/// How long a thread sleeps in its `round`-th idle round, counted from 1, if it has no event to
/// wait for: 20 us, doubling to 500 us. The end of a long wait may be seen a little late, and
/// waking costs about 10 us of CPU.
[[nodiscard]] constexpr std::chrono::microseconds sleep_time(unsigned round) noexcept {
  return std::chrono::microseconds{round < 6 ? 10 << round : 500};
}

}  // namespace flotilla::dispatch
