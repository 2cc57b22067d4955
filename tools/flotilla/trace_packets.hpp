// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packets of a trace, decoded.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace_model.hpp"

namespace tool {

/// One event of a track, with texts in place of their numbers.
struct packet_event {
  enum class types { begin = 1, end = 2, instant = 3, counter = 4 };
  enum class directions { none = 0, in = 1, out = 2, in_out = 3 };

  types type{};
  std::int64_t when = 0;
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::map<std::string, std::uint64_t> values;
  std::map<std::string, std::string> texts;
  directions direction = directions::none;
  std::uint64_t bind = 0;
  std::uint64_t flow = 0;         // begins an arrow; 0: none
  std::uint64_t ending_flow = 0;  // ends an arrow; 0: none
  std::int64_t counter = 0;
};

struct decoded_packets {
  std::map<std::uint64_t, trace_track> tracks;
  std::vector<packet_event> events;  // in the order of the file
  std::int64_t begun = 0;            // see trace_origin
};

/// @throws protozero::exception  The bytes are no messages, or are cut off.
/// @throws std::runtime_error    An event names a text that the trace lacks.
[[nodiscard]] decoded_packets decode_packets(std::string_view bytes);

}  // namespace tool
