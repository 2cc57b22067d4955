// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a trace knows of a task that has not ended.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace flotilla::dispatch {

/// The times are nanoseconds of std::chrono::steady_clock; 0 means not known. The submitting thread
/// writes the stamp before it pushes the task. Afterwards only the thread that may end the task
/// uses it (see task_end). It is packed, because each slot has one.
struct trace_stamp {
  static constexpr std::uint32_t no_lane = 0xff;
  static constexpr std::uint32_t max_threads = 1u << 24;

  std::int64_t submitted = 0;
  std::int64_t launched = 0;
  std::uint32_t ahead_us = 0;     // how long after `launched` the task began at the earliest
  std::uint32_t generation = 0;   // the lower half of the task's generation; 0: no task
  std::uint32_t session = 0;      // of the trace that was on at the submit
  std::uint32_t thread : 24 = 0;  // the index of the submitting thread (trace_threads)
  std::uint32_t lane : 8 = no_lane;

  /// Whether the stamp is that of a task with this generation. Relaxed: at the end of a trace, a
  /// thread that cancels the task may call `take` at the same time.
  [[nodiscard]] bool is_of(std::uint64_t task) noexcept {
    return std::atomic_ref{generation}.load(std::memory_order_relaxed) ==
           static_cast<std::uint32_t>(task);
  }
  /// Makes the stamp that of no task, so that its task has one record.
  void forget() noexcept { std::atomic_ref{generation}.store(0, std::memory_order_relaxed); }
  /// The same for two threads that may both want to write the record. @return whether the caller
  /// is the first one.
  [[nodiscard]] bool take(std::uint64_t task) noexcept {
    auto expected = static_cast<std::uint32_t>(task);
    return std::atomic_ref{generation}.compare_exchange_strong(expected, 0,
                                                               std::memory_order_relaxed);
  }

  /// Sets the times of the launch, if they are not known yet.
  void set_launch(std::int64_t when, std::int64_t begun) noexcept {
    if (launched != 0) { return; }
    constexpr std::int64_t ns_per_us = 1000;
    launched = when;
    // Rounded down: the task may have begun earlier than the stamp says, but not later.
    ahead_us = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>((begun - when) / ns_per_us, 0, 0xffff'ffff));
  }
  [[nodiscard]] std::int64_t begun() const noexcept {
    return launched + std::int64_t{ahead_us} * 1000;
  }
};
static_assert(sizeof(trace_stamp) == 32);

}  // namespace flotilla::dispatch
