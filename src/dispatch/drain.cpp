// A pass: how the holder of a lease empties what waits for its device.
#include <bit>
#include <span>
#include <utility>

#include <flotilla/error.hpp>

#include "base/pause.hpp"
#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"

namespace flotilla::dispatch {

namespace {

// Then other devices are looked at, where one has work, and continuations. Else it goes on: to take over costs a thread
// some 40 us, until it has the lines of slots and templates.
constexpr auto drain_at_most = std::chrono::microseconds{100};
constexpr auto drain_alone_at_most = std::chrono::microseconds{1000};
constexpr std::uint32_t most_any = 1024;  // as short tasks as there are keep a device busy for 0.2 ms
constexpr int few_looks = 8;
constexpr auto a_hop_at_most = std::chrono::microseconds{10};
constexpr int looks_between = 8;
constexpr std::size_t most_unused = std::size_t{256} << 20;  // bytes
using std::chrono::microseconds;
}  // namespace

void device_queue::requeue(slot_address address) {
  {
    std::lock_guard const lock{requeued_mutex_};
    requeued_.push_back(address);
    most_requeued_.store(std::max(most_requeued_.load(std::memory_order_relaxed), int{owner.at(address).level}),
                         std::memory_order_release);
  }
  announce();
}

bool device_queue::drain(context::lease& held, drainer who, std::function<bool()> const& stop) {
  // Ended tasks are collected without the context: a thread that only looks whether something is done pushes nothing.
  if (!needs_drain() && !owner.any_waits() && owner.unused.empty()) { return retire(); }
  bool moved = false;
  try {
    context::current_scope const scope{held};
    auto const begun = std::chrono::steady_clock::now();
    while (true) {
      bool const did = pass(who, stop);
      moved = moved || did;
      if (!did && !comes_back(held, stop)) { break; }
      auto const since = std::chrono::steady_clock::now() - begun;
      if (held.wanted() || (stop && stop()) || since > drain_alone_at_most) { break; }
      if (since > drain_at_most && (!staging_.empty() || owner.something_else(*this))) { break; }
    }
  } catch (driver_error const& why) {
    // The context cannot be made current: what waits here can never run.
    owner.note(static_cast<CUresult>(why.status()), *this);
    if (!owner.is_poisoned()) { moved = fail_all(failure_of(std::current_exception())); }
  }
  return moved;
}

bool device_queue::comes_back(context::lease const& held, std::function<bool()> const& stop) const {
  if (driving_.awaiting == 0 || owner.single_threaded()) { return false; }
  bool const kept = driving_.kept;
  bool const has_more = backlog_.load(std::memory_order_relaxed);  // which only passes move on
  if (has_more && !kept) { return false; }
  auto const until = std::chrono::steady_clock::now() + a_hop_at_most;
  while (std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < looks_between; ++i) {
      if (pending_.load(std::memory_order_relaxed)) { return true; }
      base::pause();
    }
    if (kept && some_batch_is_done()) { return true; }
    if (held.wanted() || (stop && stop()) || owner.something_else(*this)) { return false; }
  }
  return false;
}

bool device_queue::some_batch_is_done() const {
  for (std::uint64_t left = driving_.busy; left != 0; left &= left - 1) {
    if (driving_.lanes[static_cast<unsigned>(std::countr_zero(left))]->done() != nullptr) { return true; }
  }
  return false;
}

bool device_queue::pass(drainer who, std::function<bool()> const& stop) {
  pending_.store(false, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce
  if (expects_waiter()) { expect_no_waiter(); }
  bool const kept = std::exchange(driving_.kept, false);
  note_how_often();
  if (owner.is_poisoned()) {
    backlog_.store(false, std::memory_order_release);
    return false;
  }
  bool moved = retire();
  look_at_pace();
  if (kept) { moved = take_ready(0) || moved; }  // before what came back since, or other chains would go first for ever
  moved = take_requeued() || moved;
  moved = take_inboxes() || moved;
  moved = pull_any() || moved;
  // A thread that is submitting a few adds to what is staged faster than a launch is made: one launch carries them then.
  for (int i = 0; i < few_looks && driving_.staged != 0 && take_inboxes(); ++i) {}
  launch_all_staged();
  moved = run_works(who) || moved;
  moved = staging_.progress(stop) || moved;
  if (!owner.unused.empty()) {
    // Finding the oldest open task reads all slots in use: not in every pass.
    auto const now = std::chrono::steady_clock::now();
    if (!owner.has_open_tasks() || now - driving_.last_freeing > microseconds{1000}) {
      driving_.last_freeing = now;
      free_unused();
    }
  }
  backlog_.store(left_over(), std::memory_order_release);
  has_batches_.store(driving_.busy != 0, std::memory_order_release);
  return moved;
}

void device_queue::look_at_pace() {
  // A CPU device has kernels wait for each other where a GPU runs them side by side.
  bool const in_turn = info.kind == device_kind::cpu;
  if (auto const seen = probe_.result(*page)) {
    auto const took = seen->took - (seen->marks - 1) * kernel_pace::a_mark - seen->ahead;
    pace_of(seen->kernel).note(in_turn ? took / seen->chains : took, seen->depth, in_turn ? 1 : seen->chains);
  } else if (auto const open = in_turn ? std::nullopt : probe_.still_open(*page)) {
    pace_of(open->kernel).note_open(open->took, open->depth, open->behind);
  }
}

bool device_queue::room(urgency level) const noexcept {
  return may_launch(level) && driving_.ready.of(level).size() < quantum;
}

bool device_queue::left_over() const {
  if (!driving_.ready.empty() || !driving_.works.empty() || !driving_.outcomes.empty() || !staging_.empty()) {
    return true;
  }
  for (auto const& each : driving_.own_view.boxes) {
    if (!each->empty()) { return true; }
  }
  return false;
}

bool device_queue::retire() {
  bool moved = false;
  slot_returns back;
  for (std::uint64_t left = driving_.busy; left != 0; left &= left - 1) {
    lane& each = *driving_.lanes[static_cast<unsigned>(std::countr_zero(left))];
    while (lane::batch* const done = each.done()) {
      auto const now = std::chrono::steady_clock::now();
      // What the batch took itself: from its start, or from when the one before it was out of the way.
      auto const took = now - std::max(done->begun, each.last_end());
      each.set_last_end(now);
      std::span<slot_address const> const tasks{done->tasks.data(), done->count};
      std::uint32_t any = 0;
      for (slot_address const task : tasks) { any += owner.is_any(task) ? 1 : 0; }
      if (driving_.outcomes.empty()) {
        owner.end_well(tasks, back);
        count_ended(done->count, any, lane_plan::level_of(each.index()), false);
      } else {
        for (slot_address const task : tasks) {
          auto found = driving_.outcomes.extract(task);
          owner.end(task, found ? std::move(found.mapped()) : nullptr);
        }
      }
      if (lane_plan::takes_launches(each.index())) {
        driving_.in_flight -= done->count;
        if (lane_plan::level_of(each.index()) != 0) { driving_.urgent_in_flight -= done->count; }
        if (done->lasting) { --driving_.lasting; }
        if (done->awaits) {
          --driving_.awaiting;
          driving_.awaiter_ended = now;
        }
        if (done->by != nullptr) { give_back(*done->by); }
      }
      if (any != 0) {
        // How much of the common work to take ahead: enough to stay busy, little enough to leave the
        // rest to devices that are faster.
        std::uint32_t const target = any_target_.load(std::memory_order_relaxed);
        if (took < microseconds{200} && target < most_any) {
          any_target_.store(target * 2, std::memory_order_relaxed);
        } else if (took > microseconds{2000} && target > 2) {
          any_target_.store(target / 2, std::memory_order_relaxed);
        }
      }
      each.drop();
      moved = true;
    }
    if (each.in_flight() == 0) { driving_.busy &= ~(std::uint64_t{1} << each.index()); }
  }
  has_batches_.store(driving_.busy != 0, std::memory_order_release);
  return moved;
}

bool device_queue::run_works(drainer who) {
  if (driving_.works.empty() || !awaiters_have_left()) { return false; }
  bool moved = false;
  for (unsigned level = urgencies; level-- > 0;) {
    auto& works = driving_.works.of(static_cast<urgency>(level));
    for (std::size_t left = std::min<std::size_t>(works.size(), quantum); left > 0; --left) {
      slot_address const next = works.take_front();
      slot const& of = owner.at(next);
      bool const may = who.helper == 0 || of.submitter == who.helper || of.wanted.load(std::memory_order_relaxed) != 0;
      if (!may || !resolve(next, driving_.waits, nullptr)) {
        if (!may) { works.push_back(next); }
        continue;
      }
      std::vector<end_mark> const waits = driving_.waits;  // a copy: the callable may drain other devices
      if (!run_work(next, waits)) { break; }  // no lane has room: nothing moved, and nothing of these will in this pass
      moved = true;
      // User code may have taken any time: what has come since may be more urgent.
      if (gate.wanted() || has_come_above(static_cast<urgency>(level))) { return moved; }
    }
  }
  return moved;
}

bool device_queue::would_wait(limbo::item const& to_free) const noexcept {
  switch (to_free.kind) {
    case limbo::kinds::recorded: return driving_.busy != 0;
    case limbo::kinds::host_memory: return driving_.busy != 0 || owner.any_batches();  // it is every device's
    default: return false;
  }
}

void device_queue::free_unused(waiting how) {
  std::uint64_t const oldest = owner.oldest_epoch();
  // The driver waits for all that runs before it gives up pinned memory and graphs, and with it would this thread, with all
  // that it is to launch; and who waits for a kernel that waits for the host waits for ever. So they stay until there is nothing
  // to wait for, or until they are too much.
  auto const here = [this](limbo::item const& each) { return each.device == index; };
  auto const late = [&](limbo::item const& each) { return here(each) && would_wait(each); };
  bool const all = how == waiting::allowed || owner.unused.bytes(oldest, late) > most_unused;
  auto const mine = [&](limbo::item const& each) {
    return each.kind == limbo::kinds::failure || (here(each) && (all || !would_wait(each)));
  };
  while (auto const item = owner.unused.take(oldest, mine)) {
    switch (item->kind) {
      case limbo::kinds::failure:
        owner.failures_.erase(static_cast<slot_address>(item->address), item->generation);
        break;
      case limbo::kinds::device_memory:
        // In the order of a stream that nothing else uses: a plain free would wait for the device.
        owner.note(context.api().mem_free_async(item->address, memory_stream_), *this);
        break;
      case limbo::kinds::host_memory:
        owner.note(context.api().mem_free_host(reinterpret_cast<void*>(item->address)), *this);
        break;
      case limbo::kinds::recorded:
        // Here and not with the last reference to it, which may be a thread's without the context.
        owner.parts.take(static_cast<std::uint32_t>(item->address))->destroy();
        break;
    }
  }
}

bool device_queue::fail_all(std::shared_ptr<failure const> const& why) {
  pending_.store(false, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // as in `pass`
  retire();  // what is in lanes goes on without the context being current anywhere
  staging_.fail_all(why);
  std::vector<slot_address> all;
  driving_.ready.move_to(all);
  driving_.works.move_to(all);
  {
    std::lock_guard const lock{requeued_mutex_};
    all.insert(all.end(), requeued_.begin(), requeued_.end());
    requeued_.clear();
    most_requeued_.store(-1, std::memory_order_relaxed);
  }
  inboxes.refresh(driving_.own_view);
  driving_.taken.resize(quantum);
  for (auto const& box : driving_.own_view.boxes) {
    while (std::size_t const count = box->pop(driving_.taken.data(), quantum)) {
      all.insert(all.end(), driving_.taken.begin(), driving_.taken.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  owner.any_inboxes.refresh(driving_.any_view);
  if (owner.all_retired()) {  // nobody is left who could pull
    for (auto const& box : driving_.any_view.boxes) {
      if (!box->try_claim()) { continue; }
      while (std::size_t const count = box->pop(driving_.taken.data(), quantum)) {
        all.insert(all.end(), driving_.taken.begin(), driving_.taken.begin() + static_cast<std::ptrdiff_t>(count));
      }
      box->unclaim();
    }
  }
  for (slot_address const each : all) { drop_task(each, why); }
  backlog_.store(!staging_.empty(), std::memory_order_release);  // pieces under way: their copies end behind them
  return !all.empty();
}

}  // namespace flotilla::dispatch
