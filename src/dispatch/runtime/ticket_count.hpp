#pragma once
// Decides how long the inside of a runtime lives.

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/sharded_count.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The inside lives as long as its runtime and its tickets. An open task stands for its ticket, so
/// a submit counts nothing; a ticket that outlives its task is counted when the task ends
/// (task_end) (tests/unit/dispatch/runtime/ticket_count_model_test.cpp). Threads: any.
class ticket_count {
 public:
  ticket_count(task_table const& tasks, failure_table const& failures, epoch_reclaimer& reclaimer,
               base::sharded_count& tickets) noexcept
      : tasks_(tasks), failures_(failures), reclaimer_(reclaimer), tickets_(tickets) {}

  /// Call it when a ticket is dropped. @return whether it was the last one after `close`: then
  /// delete the inside.
  [[nodiscard]] bool drop(slot_address slot, std::uint64_t generation) noexcept {
    std::atomic<std::uint64_t>& state = tasks_.at(slot).generation;
    std::uint64_t word = state.load(std::memory_order_acquire);
    while (true) {
      generation_word const now{word};
      if (now.generation() != generation || now.detached()) {
        return drop_counted(slot, generation);
      }
      // acq_rel: pairs with the exchange in task_end; exactly one of the two sees the other
      if (state.compare_exchange_strong(word, word | generation_word::detached_bit,
                                        std::memory_order_acq_rel)) {
        // Touch nothing from here on: only the open task still keeps the inside alive.
        return false;
      }
    }
  }
  /// The driver is poisoned, so open tasks never end: counts their tickets as if they had ended.
  /// @param device  Counts the tasks of this device, whose lease the caller holds; empty: those
  /// that no device has.
  void count_open(std::optional<unsigned> device) noexcept;
  /// Call it when the runtime ends. @return whether no ticket is left: then delete the inside.
  [[nodiscard]] bool close() noexcept { return tickets_.close(); }

 private:
  /// The ticket was counted, because its task has ended or never will.
  [[nodiscard]] bool drop_counted(slot_address slot, std::uint64_t generation) noexcept;

  task_table const& tasks_;
  failure_table const& failures_;
  epoch_reclaimer& reclaimer_;
  base::sharded_count& tickets_;
};

}  // namespace flotilla::dispatch
