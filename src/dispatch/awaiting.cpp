// What a batch waits for on the device, before its tasks: another device.
//
// A stream that is told to wait for a number (cuStreamWaitValue64), and finds it not reached, looks again seldom: from a kernel
// on one device to one behind it on another takes 8.3 us so, 7.0 with events, and 3.8 where a kernel of one thread looks
// (docs/results/h200x2-hops.txt). It also saves the host the call: 1.4 us.
//
// **Why it cannot hang.** Such a kernel, an awaiter, keeps what it runs on. Take all that was launched and has not ended, of all
// devices, in the order in which the launches were made, and of these the first. What it is behind, in its stream or by
// `after`, was launched before it, so that has ended: nothing is put behind a task that is not launched (core::park). So an
// awaiter that is the first one ends. A kernel that is the first one needs room for one block at a time; awaiters that came
// after it have at most `most_awaiting` threads of the device, so there is room. What would need more than room for a block is a
// launch whose blocks must all be there at once: a cooperative launch, or one in clusters. Where such a one can be
// on the device nothing awaits: that is may_await. It leaves cooperative launches to callables, and what is launched where
// flotilla does not see it to contexts that are not flotilla's own.
#include <algorithm>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "dispatch/updatable.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::uint32_t most_awaiting = 8;
constexpr std::uint32_t multiprocessors_for_one = 16;  // that the others are left, on a small device too
// What is further ahead than so many batches of its lane may take long: a stream waits for that, and keeps nothing.
constexpr std::uint64_t soon = 2;
}  // namespace

bool device_queue::may_await() {
  if (driving_.never_awaits || own_kernels_.functions().awaiter == nullptr) { return false; }
  auto const most = std::min(most_awaiting, static_cast<std::uint32_t>(info.multiprocessors) / multiprocessors_for_one);
  if (driving_.awaiting >= most) { return false; }
  bool const has_own = context.asked().context.value_or(context_source::owned()).kind == context_source::kinds::owned;
  bool const alone = std::none_of(owner.devices_.begin(), owner.devices_.end(), [this](auto const& each) {
    return each->index != index && each->info.uuid == info.uuid;  // of one GPU, they would wait for each other's turn
  });
  bool const knows_all = callables_.load(std::memory_order_relaxed) == 0;
  driving_.never_awaits = !has_own || !alone || !knows_all;
  for (; driving_.kernels_seen < owner.table.kernels.size(); ++driving_.kernels_seen) {
    // One that cannot be updated is one in clusters.
    CUfunction const kernel = owner.table.kernels[driving_.kernels_seen].functions[index];
    driving_.never_awaits = driving_.never_awaits || !is_updatable(context, kernel);
  }
  return !driving_.never_awaits;
}

end_mark device_queue::to_await(std::vector<end_mark> const& waits) {
  for (end_mark const each : waits) {
    if (each.device() == index) { continue; }
    std::uint64_t const reached = owner.queue(each.device()).page->number(each.lane());
    if (reached < each.number() && reached + soon >= each.number() && may_await()) { return each; }
  }
  return {};
}

CUresult device_queue::await(graph_template& by, end_mark what) {
  if (!by.awaits()) { return CUDA_SUCCESS; }
  completion_page const& ahead = *owner.queue(what.device()).page;
  return by.await({ahead.device_address(what.lane()), what.number(), page->stopped_address()});
}

}  // namespace flotilla::dispatch
