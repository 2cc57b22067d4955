// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicts whether a thread will wait for the task that it submits.

#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Predicts whether a thread will wait for its next task. The prediction is positive if the thread
/// has eight times in a row submitted one task and then waited for that task.
///
/// Such a thread should launch the task itself, because a worker is slower. A worker needs one or
/// two microseconds to fetch the cache lines of the task, and then this thread needs the same time
/// to fetch the lines that the worker has written. If the prediction is positive, a polling worker
/// gives this thread a moment to launch the task (see device_inbound::expect_waiter).
///
/// Each thread has one predictor, for the runtime that the thread used last. A wrong prediction
/// delays a worker briefly and ends the streak.
class wait_predictor {
 public:
  [[nodiscard]] static wait_predictor& of_this_thread() noexcept {
    static thread_local constinit wait_predictor mine;
    return mine;
  }

  /// Records that the thread has submitted a task. @return whether the thread will probably wait
  /// for this task next.
  [[nodiscard]] bool on_submit(std::uint64_t runtime, slot_address task,
                               std::uint64_t generation) noexcept {
    if (runtime != runtime_) [[unlikely]] {
      *this = {};
      runtime_ = runtime;
    }
    task_ = task;
    generation_ = generation;
    return ++submits_since_wait_ == 1 && streak_ >= min_streak;
  }
  /// Records that the thread waits for a task. @return whether `on_submit` predicted this wait.
  [[nodiscard]] bool on_wait(std::uint64_t runtime, slot_address task,
                             std::uint64_t generation) noexcept {
    bool const is_lone = runtime == runtime_ && task == task_ && generation == generation_ &&
                         submits_since_wait_ == 1;
    bool const predicted = is_lone && streak_ >= min_streak;
    streak_ = is_lone ? streak_ + (predicted ? 0 : 1) : 0;
    submits_since_wait_ = 0;
    return predicted;
  }

 private:
  static constexpr std::uint32_t min_streak = 8;
  std::uint64_t runtime_ = 0;
  std::uint64_t generation_ = 0;
  slot_address task_ = no_slot;
  std::uint32_t submits_since_wait_ = 0;
  std::uint32_t streak_ = 0;
};

}  // namespace flotilla::dispatch
