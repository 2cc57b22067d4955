// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tracks of a trace.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/trace/packet_stream.hpp"
#include "dispatch/trace/track_rows.hpp"

namespace flotilla::dispatch {

/// What the records have numbers for. Threads: the functions are called by the writer of a trace.
struct trace_names {
  std::vector<std::string> devices{};  // by index
  std::function<std::string(std::uint32_t)> kernel{};
  std::function<std::string(unsigned)> lane{};
};

/// Describes each track when it is first used, and returns its number.
class trace_tracks {
 public:
  trace_tracks(packet_stream& to, trace_names const& names);

  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  [[nodiscard]] std::uint64_t thread(std::int64_t tid, std::string const& name);
  /// Tracks of a device besides its lanes.
  enum class of_device : unsigned { queued, in_flight, memory, measured, copies_out };
  [[nodiscard]] std::uint64_t device(unsigned device, of_device which);
  /// Returns the row of a task or batch.
  /// @param device  task_record::no_device: none.
  /// @param lane    trace_stamp::no_lane: none.
  enum class of_lane { tasks, batches };
  [[nodiscard]] std::uint64_t row(unsigned device, unsigned lane, of_lane which, std::int64_t begin,
                                  std::int64_t end);
  [[nodiscard]] std::uint64_t dropped();

 private:
  struct group {
    std::uint64_t track = 0;  // the parent of the rows
    track_rows tasks;
    track_rows batches;
  };
  [[nodiscard]] std::uint64_t add(track_description::kinds kind, std::uint64_t parent,
                                  std::string name);
  [[nodiscard]] std::uint64_t device_group(unsigned device);
  [[nodiscard]] group& lane_group(unsigned device, unsigned lane);

  packet_stream& to_;
  trace_names const& names_;
  std::uint64_t next_ = 1;
  std::uint64_t process_ = 0;
  std::uint64_t dropped_ = 0;
  std::map<std::int64_t, std::uint64_t> threads_;                         // by tid
  std::vector<std::uint64_t> devices_;                                    // 0: not described yet
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> device_tracks_;  // by device, of_device
  std::map<std::pair<unsigned, unsigned>, group> lanes_;                  // by device, lane
  // The lane of the last row, because many tasks in a row have the same one.
  std::pair<unsigned, unsigned> last_lane_{};
  group* last_group_ = nullptr;
};

}  // namespace flotilla::dispatch
