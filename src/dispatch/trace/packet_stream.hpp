// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes Perfetto's packets.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "dispatch/trace/perfetto.hpp"

namespace flotilla::dispatch {

/// A value of an event, shown when the event is selected.
struct event_value {
  std::uint64_t name = 0;  // the number of an annotation name
  std::uint64_t value = 0;
  perfetto::annotation kind = perfetto::annotation::number;
};

/// An event of a track. Names, categories and texts are numbers that packet_stream::intern returns.
struct trace_event {
  static constexpr std::size_t max_values = 6;

  perfetto::event_type type{};
  std::uint64_t track = 0;
  std::int64_t when = 0;   // nanoseconds of std::chrono::steady_clock
  std::uint64_t name = 0;  // 0: none, or `text`
  std::string_view text{};
  std::uint64_t category = 0;  // 0: none
  perfetto::flow_direction direction = perfetto::flow_direction::none;
  std::uint64_t bind = 0;
  std::uint64_t flow = 0;         // begins an arrow; 0: none
  std::uint64_t ending_flow = 0;  // ends an arrow; 0: none
  std::int64_t counter = 0;
  std::array<event_value, max_values> values{};
  std::size_t value_count = 0;

  void add(std::uint64_t value_name, std::uint64_t value,
           perfetto::annotation kind = perfetto::annotation::number) noexcept {
    values[value_count++] = {value_name, value, kind};
  }
};

/// How a track is described.
struct track_description {
  enum class kinds { plain, process, thread, count, bytes };
  kinds kind = kinds::plain;
  std::uint64_t track = 0;
  std::uint64_t parent = 0;  // 0: none
  std::string name{};
  std::int64_t pid = 0;
  std::int64_t tid = 0;
};

/// Appends packets to a buffer. All packets are of one sequence.
class packet_stream {
 public:
  static constexpr std::uint32_t sequence = 1;

  /// Begins the sequence, and relates its clock to the clocks of the system.
  packet_stream();

  /// Returns the number of a text, and writes the text if it is new.
  [[nodiscard]] std::uint64_t intern(perfetto::interned_data which, std::string_view text) {
    return intern_below(which, text, std::numeric_limits<std::size_t>::max());
  }
  /// The same, but returns 0 if the text is new and the table already has `max` texts.
  [[nodiscard]] std::uint64_t intern_below(perfetto::interned_data which, std::string_view text,
                                           std::size_t max);
  void describe(track_description const& track);
  void write(trace_event const& event);

  /// Returns a time as nanoseconds since the begin of the trace.
  [[nodiscard]] std::uint64_t relative(std::int64_t when) const noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(when - begun_, 0));
  }
  /// The bytes that no one has taken yet.
  [[nodiscard]] std::string& bytes() noexcept { return bytes_; }

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using table = std::unordered_map<std::string, std::uint64_t, hash, std::equal_to<>>;

  /// Begins the packet in `packet_`, and makes room for all of it: constructors of protozero's
  /// builders append to it, but are noexcept, so an allocation that fails would end the process.
  /// @param text_bytes  The size of the packet's texts. @throws std::bad_alloc
  void begin_packet(std::size_t text_bytes);
  /// Adds the packet to the bytes. @throws std::bad_alloc  Nothing was added.
  void finish_packet();

  std::int64_t const begun_;  // 0 on the clock of the trace
  std::string bytes_;
  std::string packet_;  // scratch memory
  std::unordered_map<int, table> interned_;
};

}  // namespace flotilla::dispatch
