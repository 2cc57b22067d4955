// What a pass takes in: tasks that come back from being parked, from inboxes, and from those for any device.
#include <algorithm>
#include <mutex>
#include <span>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t ahead = 16;  // slots that are fetched before they are read: they lie in another core's cache

bool some_has(std::span<std::shared_ptr<inbox> const> boxes) {
  return std::any_of(boxes.begin(), boxes.end(), [](auto const& box) { return !box->empty(); });
}
}  // namespace

void device_queue::start_all(std::span<slot_address const> tasks) {
  for (std::size_t i = 0; i < std::min(ahead, tasks.size()); ++i) { owner.prefetch(tasks[i]); }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + ahead < tasks.size()) { owner.prefetch(tasks[i + ahead]); }
    start(tasks[i]);
  }
}

bool device_queue::take_requeued() {
  if (most_requeued_.load(std::memory_order_acquire) < 0) { return false; }
  std::vector<slot_address>& back = driving_.back;  // its memory goes round: none is allocated in the steady state
  back.clear();
  {
    std::lock_guard const lock{requeued_mutex_};
    back.swap(requeued_);
    most_requeued_.store(-1, std::memory_order_relaxed);
  }
  for (slot_address const each : back) { start(each); }
  return !back.empty();
}

bool device_queue::waits_above(urgency level) const noexcept {
  return some_has(driving_.own_view.above(level)) || some_has(driving_.any_view.above(level));
}

bool device_queue::has_come_above(urgency level) {
  inboxes.refresh(driving_.own_view);
  owner.any_inboxes.refresh(driving_.any_view);
  return most_requeued_.load(std::memory_order_relaxed) > level || waits_above(level);
}

bool device_queue::take_inboxes() {
  inboxes.refresh(driving_.own_view);
  driving_.waiting = driving_.ready.size();
  for (auto const& box : driving_.own_view.boxes) { driving_.waiting += box->size(); }
  ++driving_.own_view.next;
  bool moved = false;
  // Each level, also where no inbox has it any more: what its threads left may still wait for room.
  for (urgency level = most_urgent; level > 0; --level) { moved = take_inboxes(level) || moved; }
  launch_urgent_staged();
  return take_inboxes(0) || moved;
}

bool device_queue::take_ready(urgency level) {
  bool moved = false;
  auto& ready = driving_.ready.of(level);
  for (std::size_t left = ready.size(); left > 0 && may_launch(level); --left) {
    slot_address const next = ready.take_front();
    std::size_t const before = ready.size();
    start(next);
    if (ready.size() > before) { break; }  // still none
    moved = true;
  }
  return moved;
}

bool device_queue::take_inboxes(urgency level) {
  // Those that found no room come first, or later ones would overtake them for ever.
  bool moved = take_ready(level);
  auto const boxes = driving_.own_view.of(level);
  bool orphans = false;
  for (std::size_t i = 0; i < boxes.size() && room(level); ++i) {
    // What comes meanwhile and is more urgent waits for one inbox, not for all. (It may find no room: then go on here.)
    if (level == 0 && moved && i != 0 && waits_above(0)) { break; }
    inbox& box = *boxes[(driving_.own_view.next + i) % boxes.size()];
    driving_.taken.resize(quantum);
    std::size_t const count = box.pop(driving_.taken.data(), quantum);
    start_all({driving_.taken.data(), count});
    moved = moved || count != 0;
    orphans = orphans || (count == 0 && box.orphaned());
  }
  if (orphans) { inboxes.sweep(pool); }
  return moved;
}

std::size_t device_queue::any_room(urgency level) const noexcept {
  std::uint32_t const open = any_open_[level].load(std::memory_order_relaxed);
  std::uint32_t const target = any_target_.load(std::memory_order_relaxed);
  return open < target && room(level) ? target - open : 0;
}

bool device_queue::pull_any() {
  if (!owner.any_waits()) { return false; }
  inbox_registry::view& view = driving_.any_view;
  owner.any_inboxes.refresh(view);
  bool some_room = any_room(0) != 0;
  for (urgency level = view.highest(); level > 0 && !some_room; --level) {
    some_room = any_room(level) != 0 && some_has(view.of(level));
  }
  if (!some_room) { return false; }
  // As `pass` does with pending_: clear first, look then, and say so again where something is left.
  owner.any_pending_.store(false, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  owner.any_inboxes.refresh(view);
  bool moved = false;
  bool left = false;
  bool orphans = false;
  for (unsigned level = view.highest() + 1u; level-- > 0;) {
    auto const boxes = view.of(static_cast<urgency>(level));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      inbox& box = *boxes[(view.next + i) % boxes.size()];
      if (!box.try_claim()) {
        left = true;  // another device is at it, and may leave some
        continue;
      }
      driving_.taken.resize(quantum);
      std::size_t const most = std::min(any_room(static_cast<urgency>(level)), quantum);
      std::size_t const count = box.pop(driving_.taken.data(), most);
      left = left || !box.empty();
      orphans = orphans || (box.orphaned() && box.empty());
      box.unclaim();
      any_open_[level].fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
      bump(pulled_, count);
      for (std::size_t k = 0; k < count; ++k) {
        owner.at(driving_.taken[k]).device.store(index + 1, std::memory_order_release);
      }
      start_all({driving_.taken.data(), count});
      moved = moved || count != 0;
    }
    if (level != 0) { launch_urgent_staged(); }
  }
  ++view.next;
  if (orphans) { owner.any_inboxes.sweep(owner.any_pool_); }
  if (left) { owner.any_pending_.store(true, std::memory_order_seq_cst); }
  return moved;
}

}  // namespace flotilla::dispatch
