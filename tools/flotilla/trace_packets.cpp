// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_packets.hpp"

#include <stdexcept>
#include <utility>

#include <protozero/pbf_reader.hpp>

namespace tool {
namespace {

using protozero::pbf_reader;

// The numbers of the fields in Perfetto's messages.
namespace packet {
enum : protozero::pbf_tag_type {
  clocks = 6,
  timestamp = 8,
  event = 11,
  interned = 12,
  descriptor = 60
};
}
namespace descriptor {
enum : protozero::pbf_tag_type { uuid = 1, name, process, thread, parent, counter = 8 };
constexpr protozero::pbf_tag_type process_name = 6;
constexpr protozero::pbf_tag_type thread_name = 5;
constexpr protozero::pbf_tag_type tid = 2;
constexpr protozero::pbf_tag_type pid = 1;
}  // namespace descriptor
namespace interned {
constexpr protozero::pbf_tag_type categories = 1;
constexpr protozero::pbf_tag_type names = 2;
constexpr protozero::pbf_tag_type value_names = 3;
constexpr protozero::pbf_tag_type texts = 29;
}  // namespace interned

class decoder {
 public:
  decoded_packets run(std::string_view bytes) {
    pbf_reader trace{bytes.data(), bytes.size()};
    while (trace.next()) {
      constexpr protozero::pbf_tag_type packets = 1;
      if (trace.tag() == packets) {
        add_packet(trace.get_message());
      } else {
        trace.skip();
      }
    }
    // In a merged trace, threads belong to the process of their rank.
    for (auto const& [track, pid] : threads_) {
      if (processes_.size() > 1) { made_.tracks[track].parent = processes_[pid]; }
    }
    return std::move(made_);
  }

 private:
  using table = std::map<std::uint64_t, std::string>;

  void add_packet(pbf_reader from) {
    std::int64_t when = 0;
    while (from.next()) {
      switch (from.tag()) {
        case packet::timestamp: when = static_cast<std::int64_t>(from.get_uint64()); break;
        case packet::clocks: add_clocks(from.get_message()); break;
        case packet::event: add_event(from.get_message(), when); break;
        case packet::interned: add_interned(from.get_message()); break;
        case packet::descriptor: add_track(from.get_message()); break;
        default: from.skip();
      }
    }
  }

  void add_clocks(pbf_reader from) {
    constexpr std::uint64_t time_of_day = 1;
    while (from.next(1)) {
      pbf_reader clock = from.get_message();
      std::uint64_t which = 0, when = 0;
      while (clock.next()) { (clock.tag() == 1 ? which : when) = clock.get_uint64(); }
      if (which == time_of_day) { made_.begun = static_cast<std::int64_t>(when); }
    }
  }

  void add_interned(pbf_reader from) {
    while (from.next()) {
      if (from.wire_type() != protozero::pbf_wire_type::length_delimited) {
        from.skip();
        continue;
      }
      protozero::pbf_tag_type const which = from.tag();
      pbf_reader entry = from.get_message();
      std::uint64_t id = 0;
      std::string text;
      while (entry.next()) {
        switch (entry.tag()) {
          case 1: id = entry.get_uint64(); break;
          case 2: text = entry.get_string(); break;
          default: entry.skip();
        }
      }
      interned_[which][id] = std::move(text);
    }
  }

  void add_track(pbf_reader from) {
    std::uint64_t id = 0;
    trace_track track;
    while (from.next()) {
      switch (from.tag()) {
        case descriptor::uuid: id = from.get_uint64(); break;
        case descriptor::name: track.name = from.get_string(); break;
        case descriptor::parent: track.parent = from.get_uint64(); break;
        case descriptor::process: {
          pbf_reader process = from.get_message();
          track.name = "process " + name_in(process, descriptor::process_name);
          processes_[pid_in(process)] = id;
          break;
        }
        case descriptor::thread: {
          pbf_reader thread = from.get_message();
          track.name = thread_name(thread);
          threads_[id] = pid_in(thread);
          break;
        }
        case descriptor::counter:
          track.is_counter = true;
          from.skip();
          break;
        default: from.skip();
      }
    }
    made_.tracks[id] = std::move(track);
  }

  static std::string name_in(pbf_reader from, protozero::pbf_tag_type tag) {
    return from.next(tag) ? from.get_string() : std::string{};
  }
  static std::int64_t pid_in(pbf_reader from) {
    return from.next(descriptor::pid) ? from.get_int64() : 0;
  }
  static std::string thread_name(pbf_reader from) {
    std::string name;
    std::int64_t tid = 0;
    while (from.next()) {
      switch (from.tag()) {
        case descriptor::tid: tid = from.get_int64(); break;
        case descriptor::thread_name: name = from.get_string(); break;
        default: from.skip();
      }
    }
    return "thread " + std::to_string(tid) + (name.empty() ? "" : " " + name);
  }

  std::string const& text(protozero::pbf_tag_type which, std::uint64_t id) const {
    auto const found = interned_.find(which);
    if (found != interned_.end()) {
      if (auto const one = found->second.find(id); one != found->second.end()) {
        return one->second;
      }
    }
    throw std::runtime_error("an event names text " + std::to_string(id) +
                             ", which no packet defines");
  }

  void add_event(pbf_reader from, std::int64_t when) {
    enum : protozero::pbf_tag_type {
      categories = 3,
      annotations = 4,
      legacy = 6,
      type = 9,
      name = 10,
      track = 11,
      text_of_name = 23,
      counter = 30,
      flow = 47,
      ending_flow = 48
    };
    packet_event event;
    event.when = when;
    while (from.next()) {
      switch (from.tag()) {
        case categories: event.category = text(interned::categories, from.get_uint64()); break;
        case annotations: add_value(from.get_message(), event); break;
        case legacy: add_arrow(from.get_message(), event); break;
        case type: event.type = static_cast<packet_event::types>(from.get_enum()); break;
        case name: event.name = text(interned::names, from.get_uint64()); break;
        case text_of_name: event.name = from.get_string(); break;
        case track: event.track = from.get_uint64(); break;
        case counter: event.counter = from.get_int64(); break;
        case flow: event.flow = from.get_fixed64(); break;
        case ending_flow: event.ending_flow = from.get_fixed64(); break;
        default: from.skip();
      }
    }
    made_.events.push_back(std::move(event));
  }

  void add_value(pbf_reader from, packet_event& event) const {
    enum : protozero::pbf_tag_type { name = 1, flag = 2, number = 3, named_text = 17 };
    std::string of;
    std::uint64_t value = 0;
    std::optional<std::string> as_text;
    while (from.next()) {
      switch (from.tag()) {
        case name: of = text(interned::value_names, from.get_uint64()); break;
        case flag:
        case number: value = from.get_uint64(); break;
        case named_text: as_text = text(interned::texts, from.get_uint64()); break;
        default: from.skip();
      }
    }
    if (as_text) {
      event.texts[of] = *std::move(as_text);
    } else {
      event.values[of] = value;
    }
  }

  static void add_arrow(pbf_reader from, packet_event& event) {
    enum : protozero::pbf_tag_type { bind = 8, direction = 13 };
    while (from.next()) {
      switch (from.tag()) {
        case bind: event.bind = from.get_uint64(); break;
        case direction:
          event.direction = static_cast<packet_event::directions>(from.get_enum());
          break;
        default: from.skip();
      }
    }
  }

  decoded_packets made_;
  std::map<std::int64_t, std::uint64_t> processes_;  // tracks, by pid
  std::map<std::uint64_t, std::int64_t> threads_;    // pids, by track
  // The parts of a merged trace follow each other, and each defines its texts again.
  std::map<protozero::pbf_tag_type, table> interned_;
};

}  // namespace

decoded_packets decode_packets(std::string_view bytes) { return decoder{}.run(bytes); }

}  // namespace tool
