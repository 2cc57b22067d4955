// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/packet_stream.hpp"

#include <time.h>

#include <array>

#include <protozero/basic_pbf_builder.hpp>
#include <protozero/buffer_fixed.hpp>
#include <protozero/buffer_string.hpp>
#include <protozero/data_view.hpp>
#include <protozero/pbf_builder.hpp>

namespace flotilla::dispatch {

namespace {

using protozero::pbf_builder;

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void add_clock(pbf_builder<perfetto::clock_snapshot>& snapshot, unsigned id, std::int64_t when) {
  pbf_builder<perfetto::clock_value> clock{snapshot, perfetto::clock_snapshot::clocks};
  clock.add_uint32(perfetto::clock_value::id, id);
  clock.add_uint64(perfetto::clock_value::timestamp, static_cast<std::uint64_t>(when));
}

template <class Fields>
using fixed_builder = protozero::basic_pbf_builder<protozero::fixed_size_buffer_adaptor, Fields>;

void write_event(trace_event const& event, protozero::fixed_size_buffer_adaptor& into) {
  fixed_builder<perfetto::track_event> made{into};
  made.add_enum(perfetto::track_event::type, static_cast<std::int32_t>(event.type));
  made.add_uint64(perfetto::track_event::track, event.track);
  if (!event.text.empty()) {
    made.add_string(perfetto::track_event::text, event.text.data(), event.text.size());
  }
  if (event.name != 0) { made.add_uint64(perfetto::track_event::name, event.name); }
  if (event.category != 0) { made.add_uint64(perfetto::track_event::categories, event.category); }
  if (event.type == perfetto::event_type::counter) {
    made.add_int64(perfetto::track_event::counter, event.counter);
  }
  if (event.direction != perfetto::flow_direction::none) {
    fixed_builder<perfetto::legacy_event> arrow{made, perfetto::track_event::legacy};
    arrow.add_uint64(perfetto::legacy_event::bind, event.bind);
    arrow.add_enum(perfetto::legacy_event::direction, static_cast<std::int32_t>(event.direction));
  }
  if (event.flow != 0) { made.add_fixed64(perfetto::track_event::flows, event.flow); }
  if (event.ending_flow != 0) {
    made.add_fixed64(perfetto::track_event::ending_flows, event.ending_flow);
  }
  for (std::size_t i = 0; i < event.value_count; ++i) {
    event_value const& each = event.values[i];
    fixed_builder<perfetto::annotation> value{made, perfetto::track_event::annotations};
    value.add_uint64(perfetto::annotation::name, each.name);
    value.add_uint64(each.kind, each.value);
  }
}

}  // namespace

// std::chrono::steady_clock is CLOCK_MONOTONIC on Linux.
packet_stream::packet_stream() : begun_(read_clock(CLOCK_MONOTONIC)) {
  pbf_builder<perfetto::trace_packet> packet{packet_};
  packet.add_uint32(perfetto::trace_packet::sequence, sequence);
  packet.add_uint32(perfetto::trace_packet::sequence_flags, perfetto::incremental_state_cleared);
  packet.add_bool(perfetto::trace_packet::first_on_sequence, true);
  {
    pbf_builder<perfetto::clock_snapshot> snapshot{packet, perfetto::trace_packet::clock_snapshot};
    add_clock(snapshot, perfetto::clock_of_trace, 0);
    add_clock(snapshot, perfetto::clock_monotonic, begun_);
    add_clock(snapshot, perfetto::clock_boottime, read_clock(CLOCK_BOOTTIME));
    add_clock(snapshot, perfetto::clock_realtime, read_clock(CLOCK_REALTIME));
  }
  {
    pbf_builder<perfetto::trace_packet> defaults{packet, perfetto::trace_packet::defaults};
    defaults.add_uint32(perfetto::trace_packet::timestamp_clock, perfetto::clock_of_trace);
  }
  finish_packet();
}

void packet_stream::finish_packet() {
  pbf_builder<perfetto::trace> trace{bytes_};
  trace.add_message(perfetto::trace::packet, packet_);
  packet_.clear();
}

std::uint64_t packet_stream::intern_below(perfetto::interned_data which, std::string_view text,
                                          std::size_t max) {
  table& known = interned_[static_cast<int>(which)];
  if (auto const found = known.find(text); found != known.end()) { return found->second; }
  if (known.size() >= max) { return 0; }
  std::uint64_t const number = known.size() + 1;
  known.emplace(text, number);
  pbf_builder<perfetto::trace_packet> packet{packet_};
  packet.add_uint32(perfetto::trace_packet::sequence, sequence);
  packet.add_uint32(perfetto::trace_packet::sequence_flags, perfetto::needs_incremental_state);
  {
    pbf_builder<perfetto::interned_data> data{packet, perfetto::trace_packet::interned_data};
    pbf_builder<perfetto::interned> entry{data, which};
    entry.add_uint64(perfetto::interned::id, number);
    entry.add_string(perfetto::interned::text, text.data(), text.size());
  }
  finish_packet();
  return number;
}

void packet_stream::describe(track_description const& track) {
  using kinds = track_description::kinds;
  pbf_builder<perfetto::trace_packet> packet{packet_};
  packet.add_uint32(perfetto::trace_packet::sequence, sequence);
  {
    pbf_builder<perfetto::track_descriptor> made{packet, perfetto::trace_packet::track_descriptor};
    made.add_uint64(perfetto::track_descriptor::uuid, track.track);
    if (track.parent != 0) { made.add_uint64(perfetto::track_descriptor::parent, track.parent); }
    switch (track.kind) {
      case kinds::process: {
        pbf_builder<perfetto::process_descriptor> of{made, perfetto::track_descriptor::process};
        of.add_int32(perfetto::process_descriptor::pid, static_cast<std::int32_t>(track.pid));
        of.add_string(perfetto::process_descriptor::name, track.name);
        break;
      }
      case kinds::thread: {
        pbf_builder<perfetto::thread_descriptor> of{made, perfetto::track_descriptor::thread};
        of.add_int32(perfetto::thread_descriptor::pid, static_cast<std::int32_t>(track.pid));
        of.add_int64(perfetto::thread_descriptor::tid, track.tid);
        of.add_string(perfetto::thread_descriptor::name, track.name);
        break;
      }
      case kinds::count:
      case kinds::bytes: {
        made.add_string(perfetto::track_descriptor::name, track.name);
        pbf_builder<perfetto::counter_descriptor> of{made, perfetto::track_descriptor::counter};
        of.add_enum(perfetto::counter_descriptor::unit,
                    track.kind == kinds::bytes ? perfetto::unit_bytes : perfetto::unit_count);
        break;
      }
      case kinds::plain: made.add_string(perfetto::track_descriptor::name, track.name); break;
    }
  }
  finish_packet();
}

void packet_stream::write(trace_event const& event) {
  // Most of the time of a trace is spent here. Arrays need no checks for room, unlike strings. An
  // event has at most a label, eight values and three arrows.
  std::array<char, 512> event_bytes;
  std::array<char, 512> packet_bytes;
  protozero::fixed_size_buffer_adaptor event_buffer{event_bytes};
  protozero::fixed_size_buffer_adaptor packet_buffer{packet_bytes};
  write_event(event, event_buffer);
  {
    fixed_builder<perfetto::trace_packet> packet{packet_buffer};
    packet.add_uint64(perfetto::trace_packet::timestamp, relative(event.when));
    packet.add_uint32(perfetto::trace_packet::sequence, sequence);
    // An end names no interned text.
    if (event.type != perfetto::event_type::end) {
      packet.add_uint32(perfetto::trace_packet::sequence_flags, perfetto::needs_incremental_state);
    }
    packet.add_message(perfetto::trace_packet::track_event, event_buffer.data(),
                       event_buffer.size());
  }
  pbf_builder<perfetto::trace> trace{bytes_};
  trace.add_message(perfetto::trace::packet, packet_buffer.data(), packet_buffer.size());
}

}  // namespace flotilla::dispatch
