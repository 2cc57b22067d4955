#pragma once
// Refuses waits inside callables that could never end.

#include <atomic>
#include <cstdint>
#include <deque>

#include <flotilla/task/ticket.hpp>

#include "base/cache_line.hpp"
#include "dispatch/device/device_set.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A thread inside a callable keeps its device's lease while it waits. It publishes what it waits
/// for, and then follows what the holders of other leases have published. If that leads back to a
/// lease of its own, nobody can end the wait. Every thread publishes before it looks, so the last
/// thread of a ring to look sees all of it (tests/unit/dispatch/waiting/deadlock_model_test.cpp).
/// Two threads may both be the last and both be refused; each is right about what it saw. A wait
/// with a time limit counts like any other.
class deadlock_detector {
 public:
  deadlock_detector(runtime_parts const& shared, device_set const& devices, unsigned count)
      : shared_(shared), devices_(devices), wait_targets_(count) {}

  // Threads: only inside a callable of this runtime.

  /// @throws would_deadlock  The task can go on only after this wait.
  void check_wait_for_task(task_id id);
  /// @throws would_deadlock  The lease can be released only after this wait.
  void check_wait_for_lease(unsigned device);
  /// Call it when the wait is over. Does nothing outside of callables.
  void clear() noexcept { publish(nothing); }

 private:
  // What the holder of a lease waits for, in one word. Nothing: 0. A task: its slot in the lower
  // half and its generation, which is odd, in the upper half. A lease: 1 + the device; the upper
  // half is zero.
  using target = std::uint64_t;
  static constexpr target nothing = 0;
  static target task_target(task_id id) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(id.generation)} << 32 | id.slot;
  }
  static target lease_target(unsigned device) noexcept { return std::uint64_t{device} + 1; }
  static bool is_task(target what) noexcept { return what >> 32 != 0; }

  /// Publishes for every lease that this thread holds: callables nest if a waiting one drains
  /// another device.
  void publish(target what) noexcept;
  [[nodiscard]] bool is_resolved(target what) const;
  void refuse_ring(target mine);

  runtime_parts const& shared_;
  device_set const& devices_;
  struct alignas(base::cache_line) published {
    std::atomic<target> what{nothing};  // the holder of the device's lease
  };
  std::deque<published> wait_targets_;  // by device
};

}  // namespace flotilla::dispatch
