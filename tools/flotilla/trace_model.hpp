// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A trace that was read from a file.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool {

struct trace_track {
  std::uint64_t parent = 0;
  std::string name;
  bool is_counter = false;
};

/// Times are nanoseconds since the begin of the trace.
struct trace_slice {
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t submitted = -1;                  // of a task; -1: not known
  std::map<std::string, std::uint64_t> values;  // by name
  std::string kernel;                           // of a task with a label

  [[nodiscard]] std::int64_t length() const noexcept { return end - begin; }
  [[nodiscard]] std::uint64_t value(std::string const& of) const {
    auto const found = values.find(of);
    return found == values.end() ? 0 : found->second;
  }
};

/// An arrow from a predecessor to its successor: indices of trace_model::slices.
struct trace_arrow {
  std::size_t from;
  std::size_t to;
  bool operator<(trace_arrow const& other) const noexcept {
    return to != other.to ? to < other.to : from < other.from;
  }
};

/// What rank 0 has answered to a question for its time.
struct clock_answer {
  std::int64_t asked;  // times of this trace
  std::int64_t answered;
  std::int64_t there;  // the time of rank 0 between them
};

/// Which rank has written a trace, and when.
struct trace_origin {
  int rank = -1;                        // -1: not known
  std::uint64_t run = 0;                // 0: not known
  std::vector<clock_answer> answers{};  // in the order of their times
  std::int64_t begun = 0;               // on the system's clock, which has the time of day
  std::size_t parts = 0;  // how many traces were merged into this one; 1: it was not merged
};

struct trace_model {
  trace_origin origin;
  std::map<std::uint64_t, trace_track> tracks;
  std::vector<trace_slice> slices;  // in the order of their begins
  std::vector<trace_arrow> arrows;
  struct sample {
    std::int64_t when;
    std::int64_t value;
  };
  std::map<std::uint64_t, std::vector<sample>> counters;  // by track, in the order of their times
  std::uint64_t tasks = 0;       // the number that the trace claims to have
  std::uint64_t dropped = 0;     // events that are missing
  std::uint64_t unfinished = 0;  // tasks that had not ended
  std::uint64_t every = 1;

  /// Returns the name of the nearest track above, the track included, that begins with `prefix`.
  /// Empty if there is none.
  [[nodiscard]] std::string above(std::uint64_t track, std::string const& prefix) const {
    for (auto found = tracks.find(track); found != tracks.end();
         found = tracks.find(found->second.parent)) {
      if (found->second.name.rfind(prefix, 0) == 0) { return found->second.name; }
    }
    return "";
  }
  /// Returns which of the merged traces has a track, such as "rank 1". Empty if nothing was merged.
  [[nodiscard]] std::string part_of(std::uint64_t track) const {
    constexpr std::size_t before = sizeof("process ") - 1;
    std::string const process = origin.parts > 1 ? above(track, "process ") : "";
    return process.empty() ? "" : process.substr(before, process.find(':') - before);
  }
};

}  // namespace tool
