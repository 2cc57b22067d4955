// What a pass takes in: tasks that come back from being parked, from inboxes, and from those for any device.
#include <algorithm>
#include <mutex>
#include <span>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t ahead = 16;  // slots that are fetched before they are read: they lie in another core's cache
}  // namespace

void device_queue::start_all(std::span<slot_address const> tasks) {
  for (std::size_t i = 0; i < std::min(ahead, tasks.size()); ++i) { owner.prefetch(tasks[i]); }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + ahead < tasks.size()) { owner.prefetch(tasks[i + ahead]); }
    start(tasks[i]);
  }
}

bool device_queue::take_requeued() {
  std::vector<slot_address> back;
  {
    std::lock_guard const lock{requeued_mutex_};
    back.swap(requeued_);
  }
  for (slot_address const each : back) { start(each); }
  return !back.empty();
}

bool device_queue::take_inboxes() {
  bool moved = false;
  // Those that found no room come first, or later ones would overtake them for ever.
  for (std::size_t left = driving_.ready.size(); left > 0 && driving_.in_flight < most_in_flight; --left) {
    slot_address const next = driving_.ready.take_front();
    std::size_t const before = driving_.ready.size();
    start(next);
    if (driving_.ready.size() > before) { break; }  // still none
    moved = true;
  }
  inboxes.refresh(driving_.own_view);
  auto& boxes = driving_.own_view.boxes;
  driving_.waiting = driving_.ready.size();
  for (auto const& box : boxes) { driving_.waiting += box->size(); }
  bool orphans = false;
  for (std::size_t i = 0; i < boxes.size() && room(); ++i) {
    inbox& box = *boxes[(driving_.own_view.next + i) % boxes.size()];
    driving_.taken.resize(quantum);
    std::size_t const count = box.pop(driving_.taken.data(), quantum);
    start_all({driving_.taken.data(), count});
    moved = moved || count != 0;
    orphans = orphans || (count == 0 && box.orphaned());
  }
  ++driving_.own_view.next;
  if (orphans) { inboxes.sweep(pool); }
  return moved;
}

bool device_queue::pull_any() {
  if (!owner.any_waits()) { return false; }
  if (!has_room() || !room()) { return false; }
  // As `pass` does with pending_: clear first, look then, and say so again where something is left.
  owner.any_pending_.store(false, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  owner.any_inboxes.refresh(driving_.any_view);
  auto& boxes = driving_.any_view.boxes;
  bool moved = false;
  bool left = false;
  bool orphans = false;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    inbox& box = *boxes[(driving_.any_view.next + i) % boxes.size()];
    if (!box.try_claim()) {
      left = true;  // another device is at it, and may leave some
      continue;
    }
    std::uint32_t const open = any_open_.load(std::memory_order_relaxed);
    std::uint32_t const target = any_target_.load(std::memory_order_relaxed);
    std::size_t const most = open < target && room() ? std::min<std::size_t>(target - open, quantum) : 0;
    driving_.taken.resize(quantum);
    std::size_t const count = box.pop(driving_.taken.data(), most);
    left = left || !box.empty();
    orphans = orphans || (box.orphaned() && box.empty());
    box.unclaim();
    any_open_.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    bump(pulled_, count);
    for (std::size_t k = 0; k < count; ++k) {
      owner.at(driving_.taken[k]).device.store(index + 1, std::memory_order_release);
    }
    start_all({driving_.taken.data(), count});
    moved = moved || count != 0;
  }
  ++driving_.any_view.next;
  if (orphans) { owner.any_inboxes.sweep(owner.any_pool_); }
  if (left) { owner.any_pending_.store(true, std::memory_order_seq_cst); }
  return moved;
}

}  // namespace flotilla::dispatch
