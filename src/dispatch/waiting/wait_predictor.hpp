#pragma once
// Predicts whether a thread will wait for the task that it submits.

#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Handing a lone task to a worker costs more than launching it: one or two microseconds until the
/// worker has the task's cache lines, and as much again until this thread has the lines that the
/// worker wrote. A thread that will wait for its task anyway launches it itself, if the polling
/// worker lets it (see device_inbound::expect_waiter). This class predicts that: after a thread has
/// submitted a task and waited for it eight times in a row.
///
/// Each thread has one, for the runtime that it used last. A wrong prediction costs a worker a
/// short delay and ends the streak.
class wait_predictor {
 public:
  [[nodiscard]] static wait_predictor& of_this_thread() noexcept {
    static thread_local constinit wait_predictor mine;
    return mine;
  }

  /// Call it when the thread submits a task. @return whether it will probably wait for that task
  /// next.
  [[nodiscard]] bool on_submit(std::uint64_t runtime, slot_address task,
                               std::uint64_t generation) noexcept {
    if (runtime != runtime_) { *this = {}; }
    runtime_ = runtime;
    task_ = task;
    generation_ = generation;
    return ++submits_since_wait_ == 1 && streak_ >= min_streak;
  }
  /// Call it when the thread waits for a task. @return whether that was predicted.
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
