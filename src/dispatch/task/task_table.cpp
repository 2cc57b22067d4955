// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/task_table.hpp"

#include <algorithm>

namespace flotilla::dispatch {

task_table::task_table(std::span<std::size_t const> windows, std::size_t shared_window) {
  auto const add = [this](std::size_t window) {
    pools_.push_back(std::make_unique<slot_pool>(static_cast<unsigned>(pools_.size()), window));
    slots_.push_back(&(*pools_.back())[0]);
  };
  for (std::size_t const window : windows) { add(window); }
  add(shared_window);
}

bool task_table::any_open() const noexcept {
  return std::any_of(pools_.begin(), pools_.end(),
                     [](auto const& pool) { return pool->any_used(); });
}

std::uint64_t task_table::oldest_epoch(std::uint64_t current) const noexcept {
  std::uint64_t oldest = current;
  for_each_open([&](slot_address task) {
    // The task may end meanwhile, and another task may get the slot. Then the result may be older
    // than necessary, but never too new.
    oldest = std::min(oldest, at(task).epoch.load(std::memory_order_relaxed));
    return true;
  });
  return oldest;
}

bool task_table::is_open_since(slot_address task, std::uint64_t epoch) const noexcept {
  slot const& one = at(task);
  return generation_word{one.generation.load(std::memory_order_acquire)}.holds_task() &&
         one.epoch.load(std::memory_order_relaxed) <= epoch;
}

std::optional<slot_address> task_table::find_open_since(std::uint64_t epoch) const noexcept {
  std::optional<slot_address> found;
  for_each_held([&](slot_address task) {
    if (is_open_since(task, epoch)) { found = task; }
    return !found;
  });
  return found;
}

}  // namespace flotilla::dispatch
