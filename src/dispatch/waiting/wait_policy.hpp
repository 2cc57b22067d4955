#pragma once
// How threads wait, by the schedules of the devices they wait for. Rules alone: who asks says what there is.

#include <chrono>

#include <flotilla/device.hpp>
#include <flotilla/settings.hpp>

namespace flotilla::dispatch {

/// What `how` comes to: `automatic` by the driver's rule for CU_CTX_SCHED_AUTO, every other is itself.
/// @param contexts    in the process, a count
/// @param processors  of the machine, a count
[[nodiscard]] constexpr schedule resolved(schedule how, device_kind kind, unsigned contexts,
                                          unsigned processors) noexcept {
  if (how != schedule::automatic) { return how; }
  // A CPU device computes on the processors that a spinning thread would keep busy.
  if (kind == device_kind::cpu) { return schedule::yield; }
  return contexts > processors ? schedule::yield : schedule::spin;
}

/// The schedules of several devices.
class schedules {
 public:
  constexpr void add(schedule how) noexcept { bits_ |= bit(how); }
  constexpr void add(schedules const& others) noexcept { bits_ |= others.bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  /// What a thread does that waits for all of them. The one that asks to be seen soonest wins: it spins where any
  /// spins, else yields where any yields, and sleeps only where every one blocks.
  /// @param automatic  What that comes to; also the answer where there are none.
  [[nodiscard]] constexpr schedule together(schedule automatic) const noexcept {
    if (empty()) { return automatic; }
    unsigned const all = has(schedule::automatic) ? bits_ | bit(automatic) : bits_;
    if ((all & bit(schedule::spin)) != 0) { return schedule::spin; }
    return (all & bit(schedule::yield)) != 0 ? schedule::yield : schedule::blocking;
  }

 private:
  static constexpr unsigned bit(schedule how) noexcept { return 1u << static_cast<unsigned>(how); }
  [[nodiscard]] constexpr bool has(schedule how) const noexcept { return (bits_ & bit(how)) != 0; }

  unsigned bits_ = 0;
};

/// The same for a worker. It spins on no CPU device, which needs the processor for its work.
[[nodiscard]] constexpr schedule of_worker(schedule together, device_kind kind) noexcept {
  return together == schedule::spin && kind == device_kind::cpu ? schedule::yield : together;
}

/// Whether a worker that has nothing to do stays and looks out for work. One that may only sleep ends instead: asleep
/// it would be in the way of the thread that is asked for when there is work.
[[nodiscard]] constexpr bool lingers(schedule of_worker) noexcept { return of_worker != schedule::blocking; }

/// How long a thread sleeps that has only time to sleep on, for the `round`-th time (from 1) since something moved:
/// twice as long each time, to half a millisecond. What has taken long already is not hurt by being seen a little late,
/// and a thread that wakes costs some 10 us of a processor, however little it then does.
[[nodiscard]] constexpr std::chrono::microseconds nap(unsigned round) noexcept {
  return std::chrono::microseconds{round < 6 ? 10 << round : 500};
}

}  // namespace flotilla::dispatch
