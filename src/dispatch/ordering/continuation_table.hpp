// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores which continuations wait for which tasks, and which continuations are due to run.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <flotilla/detail/continuation.hpp>
#include <flotilla/task/executor.hpp>

#include "base/fork_guard.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {
class continuation_table;
}

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// A continuation that waits for tasks. It becomes due when `left` tasks have ended.
struct continuation_state {
  /// @param in  The table of the runtime.
  explicit continuation_state(std::shared_ptr<dispatch::continuation_table> in) noexcept
      : table(std::move(in)) {}
  continuation_state(continuation_state const&) = delete;
  continuation_state& operator=(continuation_state const&) = delete;
  /// Makes the job that an executor gets. The continuation must be due.
  static executor_job make_job(std::shared_ptr<continuation_state> state) noexcept {
    return executor_job{std::move(state)};
  }

  std::shared_ptr<dispatch::continuation_table> const table;
  std::unique_ptr<continuation> callable;
  // The table's mutex guards these members until the continuation is due:
  std::size_t left = 1;
  std::exception_ptr error;  // the first error of a task
  std::shared_ptr<continuation_state> next_due;
  bool refused = false;  // whether the executor has destroyed the job of this state
  // Whether `callable` is code of flotilla that runs at once, see continuation_table::arrive.
  bool immediate = false;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::dispatch {

using detail::continuation_state;

/// Each runtime has one table. Jobs of an executor and calls share its ownership, so the table may
/// outlive the runtime. While the table's mutex is locked, no user code runs and no user object is
/// destroyed.
///
/// To watch a task, a thread first adds an entry for it to this table. Then the thread sets the bit
/// `watched` in the slot's generation word. The thread that ends the task exchanges this word. If
/// the old word has the bit, the ending thread removes the entry. If the bit was set after the
/// exchange, the watching thread sees the new generation and removes the entry itself. So every
/// entry is removed exactly once.
class continuation_table {
 public:
  using state_ptr = std::shared_ptr<continuation_state>;
  struct key {
    slot_address slot;
    std::uint64_t generation;
    bool operator==(key const&) const = default;
  };

  /// While a `use` exists, the runtime cannot end. A thread holds a `use` while it registers or
  /// runs continuations.
  class use {
   public:
    explicit use(continuation_table& table) noexcept;
    ~use();
    use(use const&) = delete;
    use& operator=(use const&) = delete;
    /// Returns whether the runtime has ended.
    [[nodiscard]] bool over() const noexcept { return over_; }

   private:
    continuation_table& table_;
    bool over_;
  };

  /// @param bell      Rung if a callable becomes due on a thread that will not run it. It is not
  ///                  used after the runtime has ended.
  /// @param executor  Runs the callables. Null: the thread that calls `run_next` runs them.
  explicit continuation_table(doorbell const& bell, executor* executor) noexcept
      : bell_(bell), executor_(executor) {}

  void watch(key task, state_ptr state);
  /// Records that the task has ended: removes the task's entry, and counts the end for each state
  /// in the entry. Does not allocate.
  void task_ended(key task, std::exception_ptr const& why);
  /// Counts the end of one task for which `state` waits.
  void arrived(state_ptr const& state, std::exception_ptr const& why);
  /// Runs one due callable, or gives it to the executor. Does nothing if this thread is already
  /// inside a callable of this table. Returns whether a callable was due.
  bool run_next();
  /// Runs a callable that was given to the executor, on this thread. Never blocks beyond that.
  static void run_job(state_ptr state);
  /// Makes a callable due again that the executor will not run. A thread that calls `run_next` then
  /// runs it itself. Runs no user code.
  static void take_back(state_ptr state) noexcept;
  /// Runs the state's callable on this thread.
  static void run(state_ptr const& state);
  /// Treats every watched task as ended with the error `outcome(key)`, unless `ends_later(key)`.
  /// Call it on a poisoned runtime, where tasks do not end one by one.
  template <class EndsLater, class Outcome>
  void end_all(EndsLater const& ends_later, Outcome const& outcome);
  /// Closes the table when its runtime ends. Does nothing and returns false if a task is watched, a
  /// callable is due, or a `use` exists.
  [[nodiscard]] bool end() noexcept;

  [[nodiscard]] bool watching() const noexcept {
    return watching_.load(std::memory_order_seq_cst) != 0;
  }
  [[nodiscard]] bool any_due() const noexcept { return due_.load(std::memory_order_seq_cst) != 0; }
  [[nodiscard]] std::size_t due() const noexcept { return due_.load(std::memory_order_seq_cst); }
  [[nodiscard]] std::size_t users() const noexcept {
    // acquire: pairs with the release in ~use
    return users_.load(std::memory_order_acquire);
  }
  /// Returns how many `use` objects were ever made. If two calls return the same count, no
  /// continuation began between the two calls.
  [[nodiscard]] std::uint64_t uses() const noexcept {
    // acquire: continuations::end must load `uses` before `users`
    return uses_.load(std::memory_order_acquire);
  }
  /// Returns whether this thread runs a continuation of this runtime.
  [[nodiscard]] bool inside() const noexcept;

 private:
  struct hash {
    std::size_t operator()(key const& task) const noexcept {
      return static_cast<std::size_t>((task.generation * 0x9e37'79b9'7f4a'7c15u) ^ task.slot);
    }
  };
  using watch_map = std::unordered_map<key, std::vector<state_ptr>, hash>;

  // Call these with the mutex locked.
  /// If the state waits for nothing more, runs its callable if it is immediate, or else makes it
  /// due.
  void arrive(state_ptr const& state, std::exception_ptr const& why);
  void add_due(state_ptr const& state) noexcept;

  void give_to_executor(state_ptr state) noexcept;
  void complain_of_drop() noexcept;
  /// Ends a use that `run_next` began, after a callable has run or was taken back. The runtime may
  /// end during the call.
  void end_use() noexcept;

  doorbell const& bell_;
  executor* const executor_;
  std::uint32_t const process_ = base::fork_generation();
  std::mutex mutex_;
  watch_map watched_;
  state_ptr first_due_;
  continuation_state* last_due_ = nullptr;
  bool over_ = false;
  std::atomic<bool> has_complained_{false};  // about the executor
  // Written with the mutex locked. Exception: `use` decrements users_ without the mutex.
  std::atomic<std::size_t> watching_{0};  // number of entries in watched_
  std::atomic<std::size_t> due_{0};
  std::atomic<std::size_t> users_{0};
  std::atomic<std::uint64_t> uses_{0};
};

template <class EndsLater, class Outcome>
void continuation_table::end_all(EndsLater const& ends_later, Outcome const& outcome) {
  use const here{*this};
  while (true) {
    watch_map::node_type found;  // allocates nothing, because there may be no memory
    {
      std::lock_guard const lock{mutex_};
      auto const next =
          std::ranges::find_if(watched_, [&](auto const& each) { return !ends_later(each.first); });
      if (next == watched_.end()) { return; }
      found = watched_.extract(next);
      watching_.store(watched_.size(), std::memory_order_seq_cst);
    }
    std::exception_ptr const why = outcome(found.key());
    for (state_ptr const& state : found.mapped()) { arrived(state, why); }
  }
}

}  // namespace flotilla::dispatch
