// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/packet_stream.hpp"

#include <time.h>

#include <array>

#include <protozero/buffer_string.hpp>
#include <protozero/pbf_builder.hpp>

#include "base/utf8.hpp"
#include "dispatch/trace/wire_writer.hpp"

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

void write_event(trace_event const& event, wire_writer& to) noexcept {
  to.number(perfetto::track_event::type, static_cast<std::uint64_t>(event.type));
  to.number(perfetto::track_event::track, event.track);
  if (!event.text.empty()) { to.text(perfetto::track_event::text, event.text); }
  if (event.name != 0) { to.number(perfetto::track_event::name, event.name); }
  if (event.category != 0) { to.number(perfetto::track_event::categories, event.category); }
  if (event.type == perfetto::event_type::counter) {
    to.number(perfetto::track_event::counter, static_cast<std::uint64_t>(event.counter));
  }
  if (event.direction != perfetto::flow_direction::none) {
    to.message(perfetto::track_event::legacy, [&] {
      to.number(perfetto::legacy_event::bind, event.bind);
      to.number(perfetto::legacy_event::direction, static_cast<std::uint64_t>(event.direction));
    });
  }
  if (event.flow != 0) { to.fixed64(perfetto::track_event::flows, event.flow); }
  if (event.ending_flow != 0) {
    to.fixed64(perfetto::track_event::ending_flows, event.ending_flow);
  }
  for (std::size_t i = 0; i < event.value_count; ++i) {
    event_value const& each = event.values[i];
    to.message(perfetto::track_event::annotations, [&] {
      to.number(perfetto::annotation::name, each.name);
      to.number(each.kind, each.value);
    });
  }
}

}  // namespace

// std::chrono::steady_clock is CLOCK_MONOTONIC on Linux.
packet_stream::packet_stream() : begun_(read_clock(CLOCK_MONOTONIC)) {
  begin_packet(0);
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

void packet_stream::begin_packet(std::size_t text_bytes) {
  constexpr std::size_t max_bytes_without_texts = 256;
  packet_.clear();  // if there was no memory, it may have a part of a packet
  packet_.reserve(max_bytes_without_texts + text_bytes);
}

void packet_stream::finish_packet() {
  constexpr std::size_t max_head_bytes = 16;
  bytes_.reserve(bytes_.size() + max_head_bytes + packet_.size());  // all of the packet or nothing
  pbf_builder<perfetto::trace> trace{bytes_};
  trace.add_message(perfetto::trace::packet, packet_);
}

std::uint64_t packet_stream::intern_below(perfetto::interned_data which, std::string_view text,
                                          std::size_t max) {
  table& known = interned_[static_cast<int>(which)];
  if (auto const found = known.find(text); found != known.end()) { return found->second; }
  if (known.size() >= max) { return 0; }
  std::uint64_t const number = known.size() + 1;
  known.emplace(text, number);
  begin_packet(text.size());
  pbf_builder<perfetto::trace_packet> packet{packet_};
  packet.add_uint32(perfetto::trace_packet::sequence, sequence);
  packet.add_uint32(perfetto::trace_packet::sequence_flags, perfetto::needs_incremental_state);
  {
    pbf_builder<perfetto::interned_data> data{packet, perfetto::trace_packet::interned_data};
    pbf_builder<perfetto::interned> entry{data, which};
    entry.add_uint64(perfetto::interned::id, number);
    entry.add_string(perfetto::interned::text, base::as_utf8(text));
  }
  finish_packet();
  return number;
}

void packet_stream::describe(track_description const& track) {
  using kinds = track_description::kinds;
  std::string const name = base::as_utf8(track.name);
  begin_packet(name.size());
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
        of.add_string(perfetto::process_descriptor::name, name);
        break;
      }
      case kinds::thread: {
        pbf_builder<perfetto::thread_descriptor> of{made, perfetto::track_descriptor::thread};
        of.add_int32(perfetto::thread_descriptor::pid, static_cast<std::int32_t>(track.pid));
        of.add_int64(perfetto::thread_descriptor::tid, track.tid);
        of.add_string(perfetto::thread_descriptor::name, name);
        break;
      }
      case kinds::count:
      case kinds::bytes: {
        made.add_string(perfetto::track_descriptor::name, name);
        pbf_builder<perfetto::counter_descriptor> of{made, perfetto::track_descriptor::counter};
        of.add_enum(perfetto::counter_descriptor::unit,
                    track.kind == kinds::bytes ? perfetto::unit_bytes : perfetto::unit_count);
        break;
      }
      case kinds::plain: made.add_string(perfetto::track_descriptor::name, name); break;
    }
  }
  finish_packet();
}

void packet_stream::write(trace_event const& event) {
  // Most of the time of a trace of tasks with labels or predecessors is spent here. An event has at
  // most a label of 255 bytes, six values and three arrows, so 512 bytes suffice. What comes before
  // the event contains its length, so it is written later, to memory of its own.
  std::array<char, 512> event_bytes;
  wire_writer event_end{event_bytes.data()};
  write_event(event, event_end);
  auto const event_size = static_cast<std::size_t>(event_end.next() - event_bytes.data());

  std::array<char, 32> head_bytes;
  wire_writer head_end{head_bytes.data()};
  head_end.number(perfetto::trace_packet::timestamp, relative(event.when));
  head_end.number(perfetto::trace_packet::sequence, sequence);
  // An end names no interned text.
  if (event.type != perfetto::event_type::end) {
    head_end.number(perfetto::trace_packet::sequence_flags, perfetto::needs_incremental_state);
  }
  head_end.begin(perfetto::trace_packet::track_event, event_size);
  auto const head_size = static_cast<std::size_t>(head_end.next() - head_bytes.data());

  std::array<char, 16> begin_bytes;
  wire_writer begin_end{begin_bytes.data()};
  begin_end.begin(perfetto::trace::packet, head_size + event_size);
  bytes_.reserve(bytes_.size() + begin_bytes.size() + head_size + event_size);
  bytes_.append(begin_bytes.data(),
                static_cast<std::size_t>(begin_end.next() - begin_bytes.data()));
  bytes_.append(head_bytes.data(), head_size);
  bytes_.append(event_bytes.data(), event_size);
}

}  // namespace flotilla::dispatch
