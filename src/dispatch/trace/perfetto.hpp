// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fields of Perfetto's messages that flotilla writes. Their numbers are part of the format.

#include <cstdint>

#include <protozero/types.hpp>

namespace flotilla::dispatch::perfetto {

enum class trace : protozero::pbf_tag_type { packet = 1 };

enum class trace_packet : protozero::pbf_tag_type {
  clock_snapshot = 6,
  timestamp = 8,
  sequence = 10,  // trusted_packet_sequence_id
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  timestamp_clock = 58,
  defaults = 59,  // trace_packet_defaults
  track_descriptor = 60,
  first_on_sequence = 87,
};
inline constexpr unsigned incremental_state_cleared = 1;  // sequence_flags
inline constexpr unsigned needs_incremental_state = 2;

enum class clock_snapshot : protozero::pbf_tag_type { clocks = 1 };
enum class clock_value : protozero::pbf_tag_type { id = 1, timestamp = 2 };
inline constexpr unsigned clock_realtime = 1;
inline constexpr unsigned clock_monotonic = 3;
inline constexpr unsigned clock_boottime = 6;
inline constexpr unsigned clock_of_trace = 64;  // the first clock that a program may define

enum class track_descriptor : protozero::pbf_tag_type {
  uuid = 1,
  name = 2,
  process = 3,
  thread = 4,
  parent = 5,
  counter = 8,
};
enum class process_descriptor : protozero::pbf_tag_type { pid = 1, name = 6 };
enum class thread_descriptor : protozero::pbf_tag_type { pid = 1, tid = 2, name = 5 };
enum class counter_descriptor : protozero::pbf_tag_type { unit = 3 };
inline constexpr int unit_count = 2;
inline constexpr int unit_bytes = 3;

enum class track_event : protozero::pbf_tag_type {
  categories = 3,  // category_iids
  annotations = 4,
  legacy = 6,
  type = 9,
  name = 10,  // name_iid
  track = 11,
  text = 23,  // name, not interned
  counter = 30,
  flows = 47,
  ending_flows = 48,
};
enum class event_type : int { begin = 1, end = 2, instant = 3, counter = 4 };

// An arrow leads from the event that has its id with `out` or `in_out` to each event that has it
// with `in`. `in_out` also ends the arrow from the event before it. (Perfetto has a newer form,
// flow_ids. But with it, two arrows from one event need two ids, which must be known when that
// event is written.)
enum class legacy_event : protozero::pbf_tag_type { bind = 8, direction = 13 };
enum class flow_direction : int { none = 0, in = 1, out = 2, in_out = 3 };
// Tasks have their numbers as ids, which are less than 2^56. These arrows have other ones, in the
// form of flow_ids:
inline constexpr std::uint64_t copy_flow = std::uint64_t{1} << 63;     // | the copy between devices
inline constexpr std::uint64_t message_flow = std::uint64_t{1} << 62;  // | a hash of the transfer

enum class annotation : protozero::pbf_tag_type {
  name = 1,  // name_iid
  flag = 2,
  number = 3,
  text = 17,  // string_value_iid
};

enum class interned_data : protozero::pbf_tag_type {
  categories = 1,
  event_names = 2,
  annotation_names = 3,
  annotation_texts = 29,
};
enum class interned : protozero::pbf_tag_type { id = 1, text = 2 };

}  // namespace flotilla::dispatch::perfetto
