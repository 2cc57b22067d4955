// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// All slots of a runtime, by address.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/prefetch.hpp"
#include "dispatch/task/slot_pool.hpp"

namespace flotilla::dispatch {

/// Owns a pool of slots for each device, and one for tasks that any device may take. Only the
/// constructor changes the table. slot.hpp says which threads may write which words of a slot.
/// Threads: any.
class task_table {
 public:
  /// @param windows        The window of each device, in tasks.
  /// @param shared_window  The window of tasks that any device may take.
  task_table(std::span<std::size_t const> windows, std::size_t shared_window);

  [[nodiscard]] slot& at(slot_address task) const noexcept {
    return slots_[task >> 16][task & 0xffff];
  }
  [[nodiscard]] slot_side& side(slot_address task) const noexcept {
    return pool(task).side(task & 0xffff);
  }
  [[nodiscard]] ticket_word& ticket_of(slot_address task) const noexcept {
    return pool(task).ticket_of(task & 0xffff);
  }
  /// Returns predecessor `i` of a task. The first `order_only(task)` predecessors may fail.
  [[nodiscard]] task_key dependency(slot_address task, std::size_t i) const noexcept {
    slot const& one = at(task);
    if (i < slot::inline_dependencies) { return {one.after_slot[i], one.after_generation[i]}; }
    return side(task).dependency(i - slot::inline_dependencies);
  }
  /// Replaces predecessor `i` of a task. Only the holder of the device's lease calls it.
  void set_dependency(slot_address task, std::size_t i, task_key predecessor) const noexcept {
    slot& one = at(task);
    if (i < slot::inline_dependencies) {
      one.after_slot[i] = predecessor.slot;
      one.after_generation[i] = predecessor.generation;
    } else {
      side(task).set_dependency(i - slot::inline_dependencies, predecessor);
    }
  }
  [[nodiscard]] std::size_t order_only(slot_address task) const noexcept {
    return at(task).has_order_only ? side(task).order_only : 0;
  }
  /// Returns the pool to which the slot belongs.
  [[nodiscard]] slot_pool& pool(slot_address task) const noexcept { return *pools_[task >> 16]; }
  /// Returns whether the task was submitted for any device.
  [[nodiscard]] bool is_shared(slot_address task) const noexcept {
    return (task >> 16) == shared_place();
  }

  /// Returns the pool of a device, or of tasks for any device.
  /// @param place  A device index, or `shared_place()`.
  [[nodiscard]] slot_pool& pool_at(unsigned place) const noexcept { return *pools_[place]; }
  [[nodiscard]] unsigned devices() const noexcept { return shared_place(); }
  [[nodiscard]] unsigned shared_place() const noexcept {
    return static_cast<unsigned>(pools_.size()) - 1;
  }

  /// Prefetches the lines of a slot that every launch uses. Call it for a slot that another core
  /// has written and that this thread will soon read.
  void prefetch(slot_address task) const noexcept {
    auto const* const bytes = reinterpret_cast<std::byte const*>(&at(task));
    base::prefetch_to_write(bytes);
    base::prefetch(bytes + base::cache_line);
  }
  /// Prefetches the other lines that this task uses. Reads the lines that `prefetch` has fetched.
  void prefetch_rest(slot_address task) const noexcept {
    slot const& one = at(task);
    auto const* const bytes = reinterpret_cast<std::byte const*>(&one);
    bool const is_small =
        one.kind == task_kind::launch && one.argument_bytes <= slot::bytes_in_second_line;
    if (!is_small) { base::prefetch(bytes + 2 * base::cache_line); }
    if (!is_small || one.dependencies != 0) { base::prefetch(bytes + 3 * base::cache_line); }
    if (one.dependencies > slot::inline_dependencies) { base::prefetch(&side(task)); }
  }

  /// Calls `visit(task)` for every open task, and stops if `visit` returns false. Reads every slot
  /// that was ever used.
  template <class Visit>
  void for_each_open(Visit&& visit) const {
    for_each_that([](generation_word word) { return word.open(); }, visit);
  }
  /// The same for every slot that holds a task (generation_word::holds_task).
  template <class Visit>
  void for_each_held(Visit&& visit) const {
    for_each_that([](generation_word word) { return word.holds_task(); }, visit);
  }
  /// Returns whether any slot is taken. Reads one cache line per 32 slots.
  [[nodiscard]] bool any_open() const noexcept;
  /// Returns the epoch of the oldest open task, or `current` if no task is open.
  [[nodiscard]] std::uint64_t oldest_epoch(std::uint64_t current) const noexcept;
  /// Returns whether the slot holds a task of `epoch` or an earlier epoch.
  [[nodiscard]] bool is_open_since(slot_address task, std::uint64_t epoch) const noexcept;
  [[nodiscard]] std::optional<slot_address> find_open_since(std::uint64_t epoch) const noexcept;

 private:
  template <class Condition, class Visit>
  void for_each_that(Condition const& condition, Visit& visit) const;

  std::vector<std::unique_ptr<slot_pool>> pools_;
  std::vector<slot*> slots_;  // the first slot of each pool, for a fast `at`
};

template <class Condition, class Visit>
void task_table::for_each_that(Condition const& condition, Visit& visit) const {
  for (std::size_t place = 0; place < pools_.size(); ++place) {
    std::uint32_t const touched = pools_[place]->touched();
    for (std::uint32_t i = 0; i < touched; ++i) {
      generation_word const word{slots_[place][i].generation.load(std::memory_order_acquire)};
      if (condition(word) && !visit(static_cast<slot_address>(place << 16 | i))) { return; }
    }
  }
}

}  // namespace flotilla::dispatch
