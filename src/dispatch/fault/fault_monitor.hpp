// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detects sticky driver errors, and reports the first one with the tasks that may have caused it.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/fault/lost_devices.hpp"
#include "dispatch/fault/task_text.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/lane/progress_words.hpp"
#include "dispatch/lane/stream_health.hpp"
#include "dispatch/lane/wait_flags.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A kernel fault makes the CUDA driver of the process unusable on every device, except on isolated
/// devices (lost_devices). The first sticky error poisons the runtime: from then on every open task
/// counts as ended, with one common failure. The failure names the suspects, which are the tasks
/// that may have faulted. Threads: any.
class fault_monitor {
 public:
  fault_monitor(task_table const& tasks, completion_board const& board, task_text const& text,
                doorbell const& bell, lost_devices& lost, wait_flags& flags,
                progress_words& progress);
  /// Adds the next device. Call it only while the runtime starts.
  void add(stream_health& streams, context::context_handle const& context) {
    devices_.push_back({&streams, &context});
  }

  /// Poisons the runtime if `answer` is sticky or says that the driver has shut down. If the device
  /// is isolated, only the device is lost.
  /// @param device  The device whose driver call returned `answer`.
  void note(CUresult answer, unsigned device) noexcept;
  /// Poisons the runtime. Call it if a thread got no host memory while it launched or ended tasks,
  /// because some of these tasks may be lost.
  void note_out_of_memory() noexcept;
  /// Queries the streams of all devices for errors, unless another thread is doing so. Poisons the
  /// runtime if an error is final (stream_health), or notes that an isolated device is lost.
  void poll_health() noexcept;
  /// How often a thread that waits calls `poll_health`.
  static constexpr std::chrono::milliseconds poll_interval{5};

  [[nodiscard]] bool is_poisoned() const noexcept {
    // acquire: pairs with the release in end_all_with, so the caller sees failure_
    return poisoned_.load(std::memory_order_acquire);
  }
  /// The failure of every open task. Call it only if `is_poisoned()` is true.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_all() const { return failure_; }

 private:
  struct watched_device {
    stream_health* streams;
    context::context_handle const* context;
  };
  void poison(CUresult answer, unsigned device) noexcept;
  void end_all_with(std::shared_ptr<failure const> why) noexcept;
  /// Returns the error text. It names the driver's error and the suspects of each device.
  [[nodiscard]] std::string report(CUresult answer, unsigned device) const;

  task_table const& tasks_;
  completion_board const& board_;
  task_text const& text_;
  doorbell const& bell_;
  lost_devices& lost_;
  wait_flags& flags_;
  progress_words& progress_;
  std::vector<watched_device> devices_;
  std::atomic<bool> poisoning_{false};      // set by the first thread that poisons the runtime
  std::atomic<bool> poisoned_{false};       // set by that thread after it has written failure_
  std::shared_ptr<failure const> failure_;  // written once, by that thread
  std::shared_ptr<failure const> const without_memory_;  // used if there is no memory for a report
  std::shared_ptr<failure const> const out_of_memory_;   // for note_out_of_memory
  std::atomic<bool> polling_{false};                     // a thread is in poll_health
};

}  // namespace flotilla::dispatch
