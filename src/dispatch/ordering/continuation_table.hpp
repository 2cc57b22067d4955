#pragma once
// What is to happen when tasks have ended: the table beside the slots, and the list of what is due.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <flotilla/completion.hpp>

#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

class continuations;
class core;

/// What a `completion` names. It waits for `left` ends; then `callable` is due, or without one the state is done.
struct completion_state {
  explicit completion_state(std::shared_ptr<continuations> of) noexcept : table(std::move(of)) {}
  completion_state(completion_state const&) = delete;
  completion_state& operator=(completion_state const&) = delete;
  ~completion_state();

  std::shared_ptr<continuations> const table;  // null: of nothing, and done from the start
  std::unique_ptr<detail::continuation> callable;
  // Under the table's mutex until done:
  std::size_t left = 1;
  std::exception_ptr error;  // first of what it waits for, then of itself
  std::vector<std::shared_ptr<completion_state>> dependents;  // callables all of them
  std::shared_ptr<completion_state> next_due;
  bool threw = false;        // the error is the callable's own
  std::atomic<bool> done{false};
  std::atomic<bool> asked{false};  // somebody has taken the error, or will
};

/// One for a runtime, which it may outlive: completions hold it. No user code runs, and nothing of a user's is
/// destroyed, under its mutex.
///
/// Who watches a task enters it here first and then sets `watched` in the slot's generation word; who ends the
/// task exchanges that word. If the exchange saw the bit, it empties the entry; if the bit came too late, the
/// watcher sees the moved generation and empties the entry itself. What leaves the table leaves it once.
class continuations {
 public:
  using state_ptr = std::shared_ptr<completion_state>;
  struct key {
    slot_address slot;
    std::uint64_t generation;
    bool operator==(key const&) const = default;
  };

  explicit continuations(core& of) noexcept : owner(&of) {}

  /// Keeps the runtime from ending while it is being used: registering, or running.
  class use {
   public:
    explicit use(continuations& of) noexcept;
    ~use();
    use(use const&) = delete;
    use& operator=(use const&) = delete;
    [[nodiscard]] bool over() const noexcept { return over_; }  // the runtime has ended

   private:
    continuations& of_;
    bool over_;
  };

  void watch(key task, state_ptr of);
  /// Everything watching the task goes on. Does not allocate.
  void task_ended(key task, std::exception_ptr const& why);
  /// One of the ends that `of` waits for has come.
  void arrived(state_ptr const& of, std::exception_ptr const& why);
  /// `then` of a completion. @return false: `on` is done, and its error is to be handed on by the caller.
  [[nodiscard]] bool depend(state_ptr const& on, state_ptr const& then);
  /// Runs what is due, a bounded number; nothing where this thread is inside one. @return whether any ran.
  bool run_due();
  /// Runs the callable here and now. The state is done afterwards.
  static void run(state_ptr const& of);
  /// Ends all that is watched with what `outcome(key)` says: for poisoned runtimes, whose tasks never end.
  template <class Outcome>
  void end_all(Outcome&& outcome) {
    use const here{*this};
    watch_map all;
    {
      std::lock_guard const lock{mutex_};
      all.swap(watched_);
      watching_.store(0, std::memory_order_seq_cst);
    }
    for (auto const& [task, states] : all) {
      std::exception_ptr const why = outcome(task);
      for (state_ptr const& each : states) { arrived(each, why); }
    }
  }
  /// The runtime ends. @return false: something is open, or is being used.
  [[nodiscard]] bool end() noexcept;

  [[nodiscard]] bool watching() const noexcept { return watching_.load(std::memory_order_seq_cst) != 0; }
  [[nodiscard]] bool any_due() const noexcept { return due_.load(std::memory_order_seq_cst) != 0; }
  [[nodiscard]] std::size_t users() const noexcept { return users_.load(std::memory_order_acquire); }
  /// How often it has been used: who sees it unchanged knows that no continuation began meanwhile.
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_.load(std::memory_order_acquire); }
  /// Whether this thread runs a continuation of this runtime.
  [[nodiscard]] bool inside() const noexcept;

  core* const owner;  // lives until `end`

 private:
  struct hash {
    std::size_t operator()(key const& of) const noexcept {
      return static_cast<std::size_t>((of.generation * 0x9e37'79b9'7f4a'7c15u) ^ of.slot);
    }
  };
  using watch_map = std::unordered_map<key, std::vector<state_ptr>, hash>;

  // With the mutex held:
  void arrive(state_ptr const& of, std::exception_ptr const& why);
  void finish(completion_state& of);

  std::mutex mutex_;
  watch_map watched_;
  state_ptr first_due_;
  completion_state* last_due_ = nullptr;
  bool over_ = false;
  std::atomic<std::size_t> watching_{0};  // entries of watched_
  std::atomic<std::size_t> due_{0};
  std::atomic<std::size_t> users_{0};
  std::atomic<std::uint64_t> uses_{0};
};

}  // namespace flotilla::dispatch
