#pragma once
// Recognises sticky driver errors, names the suspects and reports once.

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

/// A kernel fault makes the CUDA driver of the process unusable on every device. The first sticky
/// error poisons the runtime: from then on every open task counts as ended, with one common failure
/// that names the suspects. Threads: any.
class fault_monitor {
 public:
  fault_monitor(task_table const& tasks, completion_board const& board, task_text const& text);
  /// Adds the next device. Call it only while the runtime starts.
  void add(lane_set& lanes, context::context_handle const& context) {
    devices_.push_back({&lanes, &context});
  }

  /// Poisons the runtime if `answer` is sticky or says that the driver has shut down.
  /// @param device  The device whose driver call returned `answer`.
  void note(CUresult answer, unsigned device) noexcept;
  /// Poisons the runtime because a thread that launched or ended tasks got no host memory, and may
  /// have lost some of them.
  void note_out_of_memory() noexcept;
  /// Queries the streams of all devices for errors, unless another thread is doing so.
  void poll_health() noexcept;

  [[nodiscard]] bool is_poisoned() const noexcept {
    // acquire: pairs with the release in poison, so the caller sees failure_
    return poisoned_.load(std::memory_order_acquire);
  }
  /// The failure of every open task. Call it only if `is_poisoned`.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_all() const { return failure_; }

 private:
  struct watched_device {
    lane_set* lanes;
    context::context_handle const* context;
  };
  void poison(CUresult answer, unsigned device) noexcept;
  void end_all_with(std::shared_ptr<failure const> why) noexcept;
  /// Returns the message of the failure. It has the error and, for each device, the suspects: the
  /// tasks of the first batch in each lane that did not complete.
  [[nodiscard]] std::string report(CUresult answer, unsigned device) const;

  task_table const& tasks_;
  completion_board const& board_;
  task_text const& text_;
  std::vector<watched_device> devices_;
  std::atomic<bool> poisoning_{false};      // set by the first thread that sees a sticky error
  std::atomic<bool> poisoned_{false};       // set by that thread after it has written failure_
  std::shared_ptr<failure const> failure_;  // written once, by that thread
  std::shared_ptr<failure const> const without_memory_;  // used if failure_ cannot be allocated
  std::shared_ptr<failure const> const out_of_memory_;   // for note_out_of_memory
  std::atomic<bool> polling_{false};                     // a thread is in poll_health
};

}  // namespace flotilla::dispatch
