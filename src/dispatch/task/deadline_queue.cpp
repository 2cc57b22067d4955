// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/deadline_queue.hpp"

#include <algorithm>

namespace flotilla::dispatch {

void deadline_queue::note_first() noexcept {
  next_.store(open_.empty() ? never : open_.begin()->when.time_since_epoch().count(),
              std::memory_order_relaxed);
}

void deadline_queue::add(deadline_entry& entry) noexcept {
  std::lock_guard const lock{mutex_};
  auto const at = open_.insert(entry);
  if (at != open_.begin()) { return; }
  note_first();
  changed_.notify_one();
}

void deadline_queue::remove(deadline_entry& entry) noexcept {
  std::lock_guard const lock{mutex_};
  if (!entry.is_linked()) { return; }
  open_.erase(open_.iterator_to(entry));
  note_first();
}

std::size_t deadline_queue::take_due(clock::time_point now, std::span<due_task> into) noexcept {
  std::lock_guard const lock{mutex_};
  std::size_t count = 0;
  while (count < into.size() && !open_.empty() && open_.begin()->when <= now) {
    deadline_entry const& first = *open_.begin();
    into[count++] = {first.task, first.generation};
    open_.erase(open_.begin());
  }
  if (count != 0) { note_first(); }
  return count;
}

bool deadline_queue::sleep_until_due(clock::duration max) noexcept {
  std::unique_lock lock{mutex_};
  auto const latest = clock::now() + max;
  while (!is_stopping_) {
    auto const until = open_.empty() ? latest : std::min(latest, open_.begin()->when);
    if (until <= clock::now()) { return true; }
    changed_.wait_until(lock, until);
  }
  return false;
}

void deadline_queue::stop() noexcept {
  std::lock_guard const lock{mutex_};
  is_stopping_ = true;
  changed_.notify_one();
}

}  // namespace flotilla::dispatch
