// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open tasks that have a deadline.

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// A place in a deadline_queue. Each slot has at most one, in its slot_side, so the queue allocates
/// no memory and has at most as many entries as there are slots.
struct deadline_entry : boost::intrusive::set_base_hook<> {
  std::chrono::steady_clock::time_point when;
  slot_address task = no_slot;
  std::uint64_t generation = 0;
};

/// The open tasks with a deadline, in the order of their deadlines. Threads: any.
class deadline_queue {
 public:
  using clock = std::chrono::steady_clock;
  struct due_task {
    slot_address task;
    std::uint64_t generation;
  };

  /// Adds a task. `entry` must be in no queue, and must stay until `remove`. Wakes the thread in
  /// `sleep_until_due` if this is the first deadline of all.
  void add(deadline_entry& entry) noexcept;
  /// Removes the task of `entry`, unless `take_due` has done so.
  void remove(deadline_entry& entry) noexcept;
  /// Removes up to `into.size()` tasks whose deadlines have passed. @return how many.
  [[nodiscard]] std::size_t take_due(clock::time_point now, std::span<due_task> into) noexcept;

  /// Returns whether the queue has tasks. Cost: one load.
  [[nodiscard]] bool any() const noexcept { return next_.load(std::memory_order_relaxed) != never; }
  /// Returns whether a deadline has passed. Cost: one load if no task has a deadline, else also the
  /// time.
  [[nodiscard]] bool any_due() const noexcept {
    std::int64_t const next = next_.load(std::memory_order_relaxed);
    return next != never && next <= clock::now().time_since_epoch().count();
  }

  /// Blocks until a deadline has passed, or for `max` if that is shorter. @return false after
  /// `stop`.
  [[nodiscard]] bool sleep_until_due(clock::duration max) noexcept;
  /// Ends `sleep_until_due` for good.
  void stop() noexcept;

 private:
  static constexpr std::int64_t never = INT64_MAX;
  struct earlier {
    bool operator()(deadline_entry const& one, deadline_entry const& other) const noexcept {
      return one.when < other.when;
    }
  };

  /// Call this with the mutex locked, after each change of `open_`.
  void note_first() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ guards these members:
  boost::intrusive::multiset<deadline_entry, boost::intrusive::compare<earlier>> open_;
  bool is_stopping_ = false;
  // The deadline of the first task, as a count of clock ticks; written with mutex_ locked.
  std::atomic<std::int64_t> next_{never};
};

}  // namespace flotilla::dispatch
