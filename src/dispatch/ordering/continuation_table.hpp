#pragma once
// Callables that run on the host after tasks: a table beside the slots, and a list of the callables
// that are due.

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

/// The state that a `completion` names. It waits for `left` ends. Then its callable is due; a state
/// without a callable is done.
struct completion_state {
  /// @param in  Null: the state waits for nothing.
  explicit completion_state(std::shared_ptr<dispatch::continuation_table> in) noexcept
      : table(std::move(in)) {}
  completion_state(completion_state const&) = delete;
  completion_state& operator=(completion_state const&) = delete;
  ~completion_state();

  std::shared_ptr<dispatch::continuation_table> const table;
  std::unique_ptr<continuation> callable;
  // Under the table's mutex until done:
  std::size_t left = 1;
  std::exception_ptr error;  // of what it waits for, the first one; later the callable's own
  std::vector<std::shared_ptr<completion_state>> dependents;  // all of them have a callable
  std::shared_ptr<completion_state> next_due;
  bool threw = false;  // the error is the callable's own
  std::atomic<bool> done{false};
  std::atomic<bool> asked{false};  // a thread has taken the error, or will
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::dispatch {

using detail::completion_state;

/// One for each runtime, which it may outlive, because completions share it. Under its mutex no
/// user code runs and no object of a user is destroyed.
///
/// A thread that watches a task enters it here first and then sets `watched` in the slot's
/// generation word. The thread that ends the task exchanges that word. If the exchange saw the bit,
/// that thread empties the entry. If the bit came too late, the watching thread sees the moved
/// generation and empties the entry itself. So every entry leaves the table exactly once.
class continuation_table {
 public:
  using state_ptr = std::shared_ptr<completion_state>;
  struct key {
    slot_address slot;
    std::uint64_t generation;
    bool operator==(key const&) const = default;
  };

  /// Keeps the runtime alive while a thread registers or runs continuations.
  class use {
   public:
    explicit use(continuation_table& table) noexcept;
    ~use();
    use(use const&) = delete;
    use& operator=(use const&) = delete;
    /// Whether the runtime has ended.
    [[nodiscard]] bool over() const noexcept { return over_; }

   private:
    continuation_table& table_;
    bool over_;
  };

  void watch(key task, state_ptr state);
  /// The task has ended: its entry leaves the table, and the states in it count that end. Does not
  /// allocate.
  void task_ended(key task, std::exception_ptr const& why);
  /// Counts one of the ends that the state waits for.
  void arrived(state_ptr const& state, std::exception_ptr const& why);
  /// `dependent` runs after `state`. @return false: `state` is done; the caller passes its error
  /// on.
  [[nodiscard]] bool depend(state_ptr const& state, state_ptr const& dependent);
  /// Runs due callables, a bounded number; none if this thread is inside one. @return whether any
  /// ran.
  bool run_due();
  /// Runs the state's callable here and now. The state is done afterwards.
  static void run(state_ptr const& state);
  /// Treats every watched task as ended with the error `outcome(key)`, because on a poisoned
  /// runtime tasks never end.
  template <class Outcome>
  void end_all(Outcome&& outcome);
  /// Ends the table with its runtime. @return false: a state is open, or the table is in use.
  [[nodiscard]] bool end() noexcept;

  [[nodiscard]] bool watching() const noexcept {
    return watching_.load(std::memory_order_seq_cst) != 0;
  }
  [[nodiscard]] bool any_due() const noexcept { return due_.load(std::memory_order_seq_cst) != 0; }
  [[nodiscard]] std::size_t users() const noexcept {
    // acquire: pairs with the release in ~use
    return users_.load(std::memory_order_acquire);
  }
  /// How many `use` objects there ever were. If the count is unchanged, no continuation began
  /// meanwhile.
  [[nodiscard]] std::uint64_t uses() const noexcept {
    // acquire: keeps the loads of continuations::end in their order
    return uses_.load(std::memory_order_acquire);
  }
  /// Whether this thread runs a continuation of this runtime.
  [[nodiscard]] bool inside() const noexcept;

 private:
  struct hash {
    std::size_t operator()(key const& task) const noexcept {
      return static_cast<std::size_t>((task.generation * 0x9e37'79b9'7f4a'7c15u) ^ task.slot);
    }
  };
  using watch_map = std::unordered_map<key, std::vector<state_ptr>, hash>;

  // With the mutex held:
  void arrive(state_ptr const& state, std::exception_ptr const& why);
  void finish(completion_state& state);

  std::mutex mutex_;
  watch_map watched_;
  state_ptr first_due_;
  completion_state* last_due_ = nullptr;
  bool over_ = false;
  // Written under the mutex, but for users_, which `use` decrements without it.
  std::atomic<std::size_t> watching_{0};  // entries of watched_
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
