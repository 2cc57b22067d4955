#pragma once
// Sticky driver errors: recognised, attributed, and reported once.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/fault/task_text.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A kernel that faults makes the driver of its process unusable, on every device. The first sticky
/// answer poisons the runtime: from then on every open task has ended with one failure, which names
/// the suspects. Threads: any.
class fault_monitor {
 public:
  fault_monitor(task_table const& tasks, completion_board const& board, task_text const& text);
  /// Adds the next device. Only while the runtime starts.
  void add(lane_set& lanes, context::context_handle const& context) {
    devices_.push_back({&lanes, &context});
  }

  /// Looks whether a driver's answer is sticky. @param device  The device that gave it.
  void note(CUresult answer, unsigned device) noexcept;
  /// Asks the streams of all devices for errors, unless another thread is doing so.
  void poll_health() noexcept;

  [[nodiscard]] bool is_poisoned() const noexcept {
    // acquire: pairs with the release in poison, so failure_ is seen
    return poisoned_.load(std::memory_order_acquire);
  }
  /// The failure that every open task has ended with. Only if `is_poisoned`.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_all() const { return failure_; }

 private:
  struct watched_device {
    lane_set* lanes;
    context::context_handle const* context;
  };
  void poison(CUresult answer, unsigned device) noexcept;
  /// The message: the error, and for each device the tasks of the first batch in each lane that did
  /// not complete.
  [[nodiscard]] std::string report(CUresult answer, unsigned device) const;

  task_table const& tasks_;
  completion_board const& board_;
  task_text const& text_;
  std::vector<watched_device> devices_;
  std::atomic<bool> poisoning_{false};      // written by the first thread that sees a sticky answer
  std::atomic<bool> poisoned_{false};       // written by that thread, after failure_
  std::shared_ptr<failure const> failure_;  // written by that thread, once
  std::shared_ptr<failure const> const without_memory_;  // if failure_ cannot be allocated
  std::atomic<bool> polling_{false};                     // one thread at a time
};

}  // namespace flotilla::dispatch
