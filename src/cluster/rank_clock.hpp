// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the clock of this rank relates to that of rank 0, for traces.

#include <cstdint>

#include "cluster/message.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::cluster_ranks {

/// While a trace is on, asks rank 0 for its time, and notes the answers in the trace. The answer
/// was given at some time between the question and its arrival here. `flotilla trace` computes the
/// difference of the clocks from many answers.
///
/// The ranks need not agree on who has a trace, and no rank waits for an answer.
/// Threads: one at a time.
class rank_clock {
 public:
  rank_clock(dispatch::tracer& trace, int rank, int ranks) noexcept
      : trace_(trace), rank_(rank), ranks_(ranks) {}

  /// Returns whether rank 0 should be asked now. Cost: one load if there is no trace.
  [[nodiscard]] bool is_due() noexcept { return trace_.active() && look(); }
  /// Returns a question for rank 0.
  [[nodiscard]] record ask() noexcept;
  /// Returns the answer of rank 0.
  [[nodiscard]] static record answer(record const& question) noexcept;
  void note_answer(record const& what) noexcept;

 private:
  // Several questions, because some meet a rank 0 that looks late, or a network that is busy.
  static constexpr int questions_together = 16;
  // Clocks of machines drift apart by less than 100 us in this time.
  static constexpr std::int64_t pause_ns = 1'000'000'000;

  [[nodiscard]] bool look() noexcept;
  void note(std::int64_t asked, std::int64_t answered, std::int64_t there,
            std::uint64_t run) noexcept;

  dispatch::tracer& trace_;
  int const rank_;
  int const ranks_;
  std::uint32_t session_ = 0;  // the trace that knows the number of this rank
  std::int64_t next_ = 0;      // when the next questions are due
  int left_ = 0;               // of the questions that are due
  bool is_waiting_ = false;    // for an answer
};

}  // namespace flotilla::cluster_ranks
