// Waits inside callables: which could only be ended by a thread that waits itself.
#include <algorithm>
#include <vector>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"

namespace flotilla::dispatch {

// What the holder of a lease waits for, in one word: 0, nothing; a task, by its slot in the lower half and its
// generation, which is odd, in the upper; or a device's lease, 1 + the device, the upper half zero.
namespace {

std::uint64_t waiting_for_task(task_id id) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(id.generation)} << 32 | id.slot;
}
std::uint64_t waiting_for_lease(unsigned device) noexcept { return std::uint64_t{device} + 1; }

}  // namespace

void core::say_waiting_for(std::uint64_t what) noexcept {
  // Of every lease that this thread holds: callables nest where a waiting one drains another device.
  for (callable_frame const* each = callable_frame::innermost(*this); each != nullptr; each = each->outer) {
    if (each->of == this) { devices_[each->on->index]->holder_waits_for.store(what, std::memory_order_seq_cst); }
  }
}

void core::check_deadlock(task_id id) {
  std::uint64_t const what = waiting_for_task(id);
  if (is_over(what)) {
    say_waiting_for(0);
    return;
  }
  say_waiting_for(what);
  refuse_deadlock(what);
}

void core::check_deadlock_on_lease(unsigned device) {
  say_waiting_for(waiting_for_lease(device));
  refuse_deadlock(waiting_for_lease(device));
}

bool core::is_over(std::uint64_t what) {
  if (what >> 32 == 0) { return what == 0; }
  task_state const now = look({static_cast<slot_address>(what), static_cast<std::uint32_t>(what >> 32)});
  return now.state != task_state::states::open;
}

void core::refuse_deadlock(std::uint64_t mine) {
  // Devices that can go on: nobody has the lease; or its holder, who is another thread, does not wait; or waits for
  // something that a device that can go on will bring. Found by adding until nothing is added. Every waiter
  // has said what it waits for before it looks here, so of a ring of waits the last to look sees it whole.
  // (Two may both be the last, and both be refused: each is right about what it saw. A wait for a limited
  // time counts like any other.)
  std::vector<bool> can(devices_.size(), false);
  auto const will_come = [&](std::uint64_t what) {
    if (is_over(what)) { return true; }
    if (what >> 32 == 0) { return static_cast<bool>(can[what - 1]); }
    slot_address const root = mark_wanted(static_cast<slot_address>(what));
    std::uint32_t const device = at(root).device.load(std::memory_order_relaxed);
    if (device != 0) { return static_cast<bool>(can[device - 1]); }
    return std::find(can.begin(), can.end(), true) != can.end();  // for any device
  };
  for (bool added = true; added;) {
    added = false;
    for (auto const& each : devices_) {
      if (can[each->index] || each->gate.held_by_this_thread()) { continue; }
      if (!each->gate.held() || will_come(each->holder_waits_for.load(std::memory_order_seq_cst))) {
        can[each->index] = true;
        added = true;
      }
    }
  }
  if (will_come(mine)) { return; }
  say_waiting_for(0);
  throw would_deadlock("a callable on device " + std::to_string(callable_frame::innermost(*this)->on->index) +
                       " waits for " +
                       (mine >> 32 == 0 ? "the lease of device " + std::to_string(mine - 1) : std::string{"a task"}) +
                       " that cannot be had before this callable returns");
}

}  // namespace flotilla::dispatch
