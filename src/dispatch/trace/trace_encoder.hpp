// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns records into the events of a trace.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dispatch/trace/launch_packets.hpp"
#include "dispatch/trace/trace_records.hpp"
#include "dispatch/trace/trace_texts.hpp"
#include "dispatch/trace/trace_tracks.hpp"

namespace flotilla::dispatch {

/// What the last event of a trace says. A trace without this event is incomplete.
struct trace_totals {
  std::uint64_t tasks = 0;
  std::uint64_t dropped = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t every = 1;
};

/// docs/tracing.md says what each track, slice and arrow means. Threads: only the writer.
class trace_encoder {
 public:
  explicit trace_encoder(trace_names names);

  /// @param index  The index of the thread that the records name.
  void add_thread(std::uint32_t index, std::int64_t tid, std::string const& name);
  /// Encodes a record. The threads that it names must have been added.
  void add(std::span<std::uint64_t const> record);
  void add_dropped(std::int64_t when, std::uint64_t records);
  void finish(std::int64_t when, trace_totals const& totals);

  /// The number of tasks so far.
  [[nodiscard]] std::uint64_t tasks() const noexcept { return tasks_; }
  [[nodiscard]] std::string& bytes() noexcept { return to_.bytes(); }

 private:
  void add(task_record const& task, std::span<std::uint64_t const> tail);
  /// @param tail  The entries behind the record.
  void add(launches_record const& launches, std::span<std::uint64_t const> tail);
  void add(batch_record const& batch);
  void add(drive_record const& drive);
  void add(counters_record const& counters);
  void add(measured_record const& measured);
  void add(clock_record const& clock);

  void slice(trace_event begin, std::int64_t end);
  void count(std::uint64_t track, std::int64_t when, std::uint64_t value);
  [[nodiscard]] std::uint64_t name(std::string_view text) {
    return to_.intern(perfetto::interned_data::event_names, text);
  }
  [[nodiscard]] std::uint64_t value(std::string_view text) {
    return to_.intern(perfetto::interned_data::annotation_names, text);
  }
  [[nodiscard]] std::uint64_t kernel_name(std::uint32_t kernel);
  [[nodiscard]] launch_packets& launches_of(std::uint32_t kernel);
  [[nodiscard]] std::uint64_t name_of(task_record const& task, std::string_view label);
  [[nodiscard]] std::string kind_of(task_record const& task);

  trace_names const names_;
  packet_stream to_;
  trace_tracks tracks_;
  trace_texts const texts_;
  std::vector<std::uint64_t> threads_;       // tracks, by index
  std::vector<std::uint64_t> kernel_names_;  // event names, by kernel; 0: not known yet
  std::vector<std::uint64_t> drive_names_;   // by device
  std::vector<std::unique_ptr<launch_packets>> launches_;       // by kernel; null: none yet
  std::unordered_map<std::uint64_t, message_record> messages_;  // by task
  std::uint64_t tasks_ = 0;
};

}  // namespace flotilla::dispatch
