// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a trace knows of a task that has not ended.

#include <cstdint>

namespace flotilla::dispatch {

/// The times are nanoseconds of std::chrono::steady_clock; 0 means not known. The submitting thread
/// writes the stamp before it pushes the task. Afterwards only the thread that may end the task
/// uses it (see task_end).
struct trace_stamp {
  static constexpr std::uint16_t no_lane = 0xffff;

  std::uint64_t generation = 0;  // of the task to which the stamp belongs
  std::uint32_t session = 0;     // of the trace that was on at the submit
  std::uint32_t thread = 0;      // the index of the submitting thread (trace_threads)
  std::int64_t submitted = 0;
  std::int64_t launched = 0;
  std::int64_t begun = 0;
  std::uint16_t lane = no_lane;
};

}  // namespace flotilla::dispatch
