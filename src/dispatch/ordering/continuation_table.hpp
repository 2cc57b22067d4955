#pragma once
// The callables that run on the host after tasks: which tasks they wait for, and which callables
// are due.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <flotilla/task/completion.hpp>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {
class continuation_table;
}

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The state behind a `completion`. It waits until `left` tasks or states have ended. Then its
/// callable is due, or the state is done if it has no callable.
struct completion_state {
  /// @param in  The table of the runtime. Null: the state waits for nothing.
  explicit completion_state(std::shared_ptr<dispatch::continuation_table> in) noexcept
      : table(std::move(in)) {}
  completion_state(completion_state const&) = delete;
  completion_state& operator=(completion_state const&) = delete;
  ~completion_state();

  std::shared_ptr<dispatch::continuation_table> const table;
  std::unique_ptr<continuation> callable;
  // The table's mutex guards these members until `done` is set:
  std::size_t left = 1;
  std::exception_ptr error;  // the first error of its predecessors; later its callable's error
  std::vector<std::shared_ptr<completion_state>> dependents;  // they have callables
  std::shared_ptr<completion_state> next_due;
  bool threw = false;  // `error` is the callable's own
  std::atomic<bool> done{false};
  std::atomic<bool> asked{false};  // a thread has read the error, or will read it
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::dispatch {

using detail::completion_state;

/// Each runtime has one table. Completions share the table, so it may outlive the runtime. While
/// the table's mutex is locked, no user code runs and no user object is destroyed.
///
/// A thread that watches a task first enters the task here and then sets `watched` in the slot's
/// generation word. The thread that ends the task exchanges that word. If the exchange returns
/// `watched`, the ending thread removes the entry. If the bit was set too late, the watching thread
/// sees the new generation and removes the entry itself. So every entry is removed exactly once.
class continuation_table {
 public:
  using state_ptr = std::shared_ptr<completion_state>;
  struct key {
    slot_address slot;
    std::uint64_t generation;
    bool operator==(key const&) const = default;
  };

  /// While a `use` exists, the runtime cannot end. A thread holds one while it registers or runs
  /// continuations.
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

  void watch(key task, state_ptr state);
  /// Records that the task has ended: removes its entry and counts the end for each state in it.
  /// Does not allocate.
  void task_ended(key task, std::exception_ptr const& why);
  /// Counts the end of one task or state for which `state` waits.
  void arrived(state_ptr const& state, std::exception_ptr const& why);
  /// Makes `dependent` run after `state`. Returns false if `state` is already done. Then the caller
  /// must pass the error of `state` on.
  [[nodiscard]] bool depend(state_ptr const& state, state_ptr const& dependent);
  /// Runs due callables, but at most a fixed number of them. Runs none if this thread is already
  /// inside a callable of this table. Returns whether any ran.
  bool run_due();
  /// Runs the state's callable on this thread. Afterwards the state is done.
  static void run(state_ptr const& state);
  /// Treats every watched task as ended with the error `outcome(key)`. Needed on a poisoned
  /// runtime, where the normal end of a task does not occur.
  template <class Outcome>
  void end_all(Outcome&& outcome);
  /// Closes the table when its runtime ends. Returns false if a state is open or a `use` exists.
  [[nodiscard]] bool end() noexcept;

  [[nodiscard]] bool watching() const noexcept {
    return watching_.load(std::memory_order_seq_cst) != 0;
  }
  [[nodiscard]] bool any_due() const noexcept { return due_.load(std::memory_order_seq_cst) != 0; }
  [[nodiscard]] std::size_t users() const noexcept {
    // acquire: pairs with the release in ~use
    return users_.load(std::memory_order_acquire);
  }
  /// Returns how many `use` objects were ever made. If two calls return the same count, no
  /// continuation began in between.
  [[nodiscard]] std::uint64_t uses() const noexcept {
    // acquire: continuations::end loads `uses` before `users`
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
  void arrive(state_ptr const& state, std::exception_ptr const& why);
  void finish(completion_state& state);

  std::mutex mutex_;
  watch_map watched_;
  state_ptr first_due_;
  completion_state* last_due_ = nullptr;
  bool over_ = false;
  // Written with the mutex locked. Exception: `use` decrements users_ without the mutex.
  std::atomic<std::size_t> watching_{0};  // number of entries in watched_
  std::atomic<std::size_t> due_{0};
  std::atomic<std::size_t> users_{0};
  std::atomic<std::uint64_t> uses_{0};
};

template <class Outcome>
void continuation_table::end_all(Outcome&& outcome) {
  use const here{*this};
  watch_map all;
  {
    std::lock_guard const lock{mutex_};
    all.swap(watched_);
    watching_.store(0, std::memory_order_seq_cst);
  }
  for (auto const& [task, states] : all) {
    std::exception_ptr const why = outcome(task);
    for (state_ptr const& state : states) { arrived(state, why); }
  }
}

}  // namespace flotilla::dispatch
