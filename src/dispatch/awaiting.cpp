// What a batch waits for on the device, before its tasks: another device.
//
// A stream that is told to wait for a number (cuStreamWaitValue64), and finds it not reached, looks again seldom: from
// a kernel on one device to one behind it on another takes 8.3 us so, 7.0 with events, and 3.8 where a kernel of one
// thread looks (docs/results/h200x2-hops.txt). It also saves the host the call: 1.4 us.
//
// **Why it does not hang.** Such a kernel, an awaiter, keeps what it runs on. Take all that was launched and has not
// ended, of all devices, in the order in which the launches were made, and of these the first. What it is behind, in
// its stream or by `after`, was launched before it, so that has ended: nothing is put behind a task whose number is
// not on its stream (core::park, device_queue::launched). So an awaiter that is the first one ends. A kernel that is
// the first one needs room for one block at a time; there are at most `most_awaiting` awaiters, of one thread each, so
// there is room. What needs more than room for a block is a launch whose blocks must all be there at once, a
// cooperative one or one in clusters. Where such a one can be on the device nothing awaits (may_await): cooperative
// launches are callables' to make, and after the first callable of a device nothing awaits there; it runs when the
// batches that awaited have ended, or after a second, for it may be what an awaited kernel waits for.
//
// Not covered: blocks that wait for each other in a plain launch, which CUDA does not promise anything for either; and
// cooperative launches of a first callable that was kept for that second.
//
// Contexts of one GPU take turns, milliseconds each, and an awaiter uses its turn up where a stream that waits does
// not. So nothing awaits while there is another context of flotilla's in the process, of whatever runtime; what other
// processes have there, and others in this one, is not known.
#include <algorithm>
#include <chrono>
#include <utility>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "dispatch/updatable.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::uint32_t most_awaiting = 8;
// What is further ahead than so many batches of its lane may take long: a stream waits for that, and keeps nothing.
constexpr std::uint64_t soon = 2;
constexpr std::chrono::seconds callables_wait_at_most{1};
// A chain has one task at a time that could go. Where there are many, what they wait for goes on side by side as well, and to keep
// them would keep what comes behind them.
constexpr std::size_t most_kept = 4;
}  // namespace

bool device_queue::may_ever_await() const {
  device_settings const& asked = context.asked();
  if (own_kernels_.functions().awaiter == nullptr) { return false; }
  // Others may launch anything in a context that they have as well; a part of a GPU is small.
  if (asked.context.value_or(context_source::owned()).kind != context_source::kinds::owned) { return false; }
  if (asked.exec_affinity) { return false; }
  CUdevice device = 0;
  int ends_kernels = 1;  // after some seconds, where the device has a display
  driver::table const& api = context.api();
  return api.device_get(&device, info.driver_ordinal) == CUDA_SUCCESS &&
         api.device_get_attribute(&ends_kernels, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, device) == CUDA_SUCCESS &&
         ends_kernels == 0;
}

bool device_queue::may_await() {
  if (!driving_.awaits) { driving_.awaits = may_ever_await(); }
  for (; *driving_.awaits && driving_.kernels_seen < owner.table.kernels.size(); ++driving_.kernels_seen) {
    // One that cannot be updated is one in clusters.
    driving_.awaits = is_updatable(context, owner.table.kernels[driving_.kernels_seen].functions[index]);
  }
  return *driving_.awaits && driving_.awaiting < most_awaiters() && context::live_contexts() == owner.devices_.size();
}

std::uint32_t device_queue::most_awaiters() const noexcept {
  return std::min(most_awaiting, static_cast<unsigned>(info.multiprocessors) / multiprocessors_an_awaiter);
}

bool device_queue::awaiters_have_left() {
  driving_.awaits = false;
  if (driving_.awaiting == 0) { return true; }
  auto const now = std::chrono::steady_clock::now();
  if (driving_.works_since == std::chrono::steady_clock::time_point{}) { driving_.works_since = now; }
  return now - driving_.works_since > callables_wait_at_most;
}

end_mark device_queue::near_by(std::vector<end_mark> const& waits) const noexcept {
  for (end_mark const each : waits) {
    if (each.device() == index) { continue; }
    std::uint64_t const reached = owner.queue(each.device()).page->number(each.lane());
    if (reached < each.number() && reached + soon >= each.number()) { return each; }
  }
  return {};
}

end_mark device_queue::to_await(std::vector<end_mark> const& waits, kernel_pace const& pace) {
  if (pace.nanoseconds() == 0) { return {}; }  // nobody has seen it run, and behind an awaiter it cannot be measured
  end_mark const near = near_by(waits);
  return near.launched() && may_await() ? near : end_mark{};
}

void device_queue::note_how_often() noexcept {
  if (driving_.awaiting == 0) { return; }
  auto const now = std::chrono::steady_clock::now();
  driving_.passes_often = now - std::exchange(driving_.last_pass, now) < awaiters_turn_over / 5;
}

bool device_queue::worth_awaiting_later(slot const& of, std::vector<end_mark> const& waits) {
  // What is urgent goes as it can. With several to wait for, streams wait for the others all the same.
  if (driving_.awaiting == 0 || of.level != 0 || waits.size() != 1 || !driving_.awaits.value_or(false)) { return false; }
  if (driving_.awaiting < most_awaiters() || driving_.ready.of(0).size() >= most_kept) { return false; }
  bool const turn_over = std::chrono::steady_clock::now() - driving_.awaiter_ended < awaiters_turn_over;
  return turn_over && driving_.passes_often && pace_of(of.kernel).nanoseconds() != 0 && near_by(waits).launched();
}

CUresult device_queue::await(graph_template& by, end_mark what) {
  if (!by.awaits()) { return CUDA_SUCCESS; }
  completion_page const& ahead = *owner.queue(what.device()).page;
  return by.await({ahead.device_address(what.lane()), what.number(), page->stopped_address()});
}

}  // namespace flotilla::dispatch
