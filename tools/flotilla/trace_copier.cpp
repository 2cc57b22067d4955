// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_copier.hpp"

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include "dispatch/trace/perfetto.hpp"

namespace tool {
namespace {

namespace perfetto = flotilla::dispatch::perfetto;
using protozero::pbf_builder;
using protozero::pbf_message;

/// Copies a field that is the same in the merged trace.
void copy_field(protozero::pbf_reader& from, protozero::pbf_writer& to) {
  protozero::pbf_tag_type const tag = from.tag();
  switch (from.wire_type()) {
    case protozero::pbf_wire_type::varint: return to.add_uint64(tag, from.get_uint64());
    case protozero::pbf_wire_type::fixed64: return to.add_fixed64(tag, from.get_fixed64());
    case protozero::pbf_wire_type::fixed32: return to.add_fixed32(tag, from.get_fixed32());
    case protozero::pbf_wire_type::length_delimited: return to.add_bytes(tag, from.get_view());
    case protozero::pbf_wire_type::unknown: return from.skip();
  }
}

class copier {
 public:
  explicit copier(trace_place const& to) : with_(to) {}

  void copy(std::string_view bytes, std::string& to) const {
    pbf_builder<perfetto::trace> trace{to};
    pbf_message<perfetto::trace> from{bytes.data(), bytes.size()};
    while (from.next()) {
      if (from.tag() != perfetto::trace::packet) {
        copy_field(from, trace);
        continue;
      }
      packet_.clear();
      pbf_builder<perfetto::trace_packet> made{packet_};
      copy_packet(from.get_message(), made);
      trace.add_message(perfetto::trace::packet, packet_);
    }
  }

 private:
  using packet = perfetto::trace_packet;
  using event = perfetto::track_event;
  using descriptor = perfetto::track_descriptor;

  [[nodiscard]] std::uint64_t unique(std::uint64_t id) const noexcept {
    return id * with_.parts + with_.index;
  }
  [[nodiscard]] std::uint64_t unique_flow(std::uint64_t id) const noexcept {
    bool const is_copy = (id & perfetto::copy_flow) != 0;
    bool const is_message = !is_copy && (id & perfetto::message_flow) != 0;
    if (is_message) { return id; }  // two ranks have it
    return is_copy ? unique(id & ~perfetto::copy_flow) | perfetto::copy_flow : unique(id);
  }
  // The system's number of a process may be the same on two machines. 0 would be an idle processor.
  [[nodiscard]] std::int32_t process() const noexcept {
    return static_cast<std::int32_t>(with_.index + 1);
  }

  void copy_packet(pbf_message<packet> from, pbf_builder<packet>& to) const {
    while (from.next()) {
      switch (from.tag()) {
        case packet::timestamp:
          to.add_uint64(packet::timestamp,
                        with_.time(static_cast<std::int64_t>(from.get_uint64())));
          break;
        case packet::sequence:
          from.skip();
          to.add_uint32(packet::sequence, static_cast<std::uint32_t>(with_.index + 1));
          break;
        case packet::clock_snapshot:
          from.skip();
          to.add_bytes(packet::clock_snapshot, with_.clock_snapshot.data(),
                       with_.clock_snapshot.size());
          break;
        case packet::track_event: {
          pbf_builder<event> made{to, packet::track_event};
          copy_event(from.get_message(), made);
          break;
        }
        case packet::track_descriptor: {
          pbf_builder<descriptor> made{to, packet::track_descriptor};
          copy_track(from.get_message(), made);
          break;
        }
        default: copy_field(from, to);
      }
    }
  }

  void copy_event(pbf_message<event> from, pbf_builder<event>& to) const {
    while (from.next()) {
      switch (from.tag()) {
        case event::track: to.add_uint64(event::track, unique(from.get_uint64())); break;
        case event::flows: to.add_fixed64(event::flows, unique_flow(from.get_fixed64())); break;
        case event::ending_flows:
          to.add_fixed64(event::ending_flows, unique_flow(from.get_fixed64()));
          break;
        case event::legacy: {
          pbf_builder<perfetto::legacy_event> made{to, event::legacy};
          replace<perfetto::legacy_event>(
              from.get_message(), made, perfetto::legacy_event::bind, [&](auto& field) {
                made.add_uint64(perfetto::legacy_event::bind, unique(field.get_uint64()));
              });
          break;
        }
        default: copy_field(from, to);
      }
    }
  }

  void copy_track(pbf_message<descriptor> from, pbf_builder<descriptor>& to) const {
    while (from.next()) {
      switch (from.tag()) {
        case descriptor::uuid: to.add_uint64(descriptor::uuid, unique(from.get_uint64())); break;
        case descriptor::parent:
          to.add_uint64(descriptor::parent, unique(from.get_uint64()));
          break;
        case descriptor::process: copy_process(from.get_message(), to); break;
        case descriptor::thread: {
          pbf_builder<perfetto::thread_descriptor> made{to, descriptor::thread};
          replace<perfetto::thread_descriptor>(
              from.get_message(), made, perfetto::thread_descriptor::pid, [&](auto& field) {
                field.skip();
                made.add_int32(perfetto::thread_descriptor::pid, process());
              });
          break;
        }
        default: copy_field(from, to);
      }
    }
  }

  void copy_process(pbf_message<perfetto::process_descriptor> from,
                    pbf_builder<descriptor>& to) const {
    using fields = perfetto::process_descriptor;
    pbf_builder<fields> made{to, descriptor::process};
    made.add_int32(fields::pid, process());
    while (from.next()) {
      if (from.tag() == fields::name) {
        made.add_string(fields::name, with_.label + ": " + from.get_string());
      } else {
        from.skip();
      }
    }
  }

  /// Copies a message, but calls `change` for one of its fields.
  template <class Fields, class Change>
  static void replace(pbf_message<Fields> from, pbf_builder<Fields>& to, Fields which,
                      Change const& change) {
    while (from.next()) {
      if (from.tag() == which) {
        change(from);
      } else {
        copy_field(from, to);
      }
    }
  }

  trace_place const& with_;
  std::string mutable packet_;  // scratch memory
};

}  // namespace

std::string clock_snapshot_of(std::string const& bytes) {
  pbf_message<perfetto::trace> trace{bytes};
  while (trace.next(perfetto::trace::packet)) {
    pbf_message<perfetto::trace_packet> packet = trace.get_message();
    if (packet.next(perfetto::trace_packet::clock_snapshot)) { return packet.get_string(); }
  }
  return {};
}

void copy_packets(std::string const& bytes, trace_place const& place, std::string& to) {
  copier{place}.copy(bytes, to);
}

}  // namespace tool
