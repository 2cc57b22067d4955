// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/launch_packets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "dispatch/trace/packet_stream.hpp"
#include "dispatch/trace/wire_writer.hpp"

namespace flotilla::dispatch {

namespace {

using perfetto::event_type;
using perfetto::flow_direction;

/// The bytes of a number in protobuf's encoding.
constexpr std::uint8_t width_of(std::uint64_t value) noexcept {
  return static_cast<std::uint8_t>((std::bit_width(value | 1) + 6) / 7);
}

/// Spreads 56 bits over 8 bytes, 7 bits in each, the lowest first.
constexpr std::uint64_t spread(std::uint64_t value) noexcept {
  value = (value & 0x00ff'ffff'f000'0000) << 4 | (value & 0x0000'0000'0fff'ffff);
  value = (value & 0x0fff'c000'0fff'c000) << 2 | (value & 0x0000'3fff'0000'3fff);
  return (value & 0x3f80'3f80'3f80'3f80) << 1 | (value & 0x007f'007f'007f'007f);
}
static_assert(spread(0x80) == 0x0100 &&
              spread((std::uint64_t{1} << 56) - 1) == 0x7f7f'7f7f'7f7f'7f7f);
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t bound_of(std::uint8_t width) noexcept {
  return width >= 10 ? std::numeric_limits<std::uint64_t>::max()
                     : (std::uint64_t{1} << (7 * width)) - 1;
}

}  // namespace

/// Also leaves room for the numbers that differ from task to task.
class launch_packets::writer : public wire_writer {
 public:
  explicit writer(launch_packets& to) noexcept : wire_writer{to.bytes_.data()}, to_{to} {}

  template <class Field>
  void room(Field field, launch_packets::number kind) noexcept {
    tag(field, 0);
    std::uint8_t const width = to_.widths_[kind];
    to_.places_[place_++] = {static_cast<std::uint8_t>(size()), width, 0};
    // A number of zeros, which has its continuation bits.
    for (unsigned i = 0; i + 1 < width; ++i) { *next()++ = static_cast<char>(0x80); }
    *next()++ = 0;
  }
  [[nodiscard]] std::size_t size() noexcept {
    return static_cast<std::size_t>(next() - to_.bytes_.data());
  }

 private:
  launch_packets& to_;
  std::size_t place_ = 0;
};

void launch_packets::build() {
  writer to{*this};
  auto const packet = [&](bool names_texts, auto const& write_event) {
    to.message(perfetto::trace::packet, [&] {
      to.room(perfetto::trace_packet::timestamp, time);
      to.number(perfetto::trace_packet::sequence, packet_stream::sequence);
      if (names_texts) {
        to.number(perfetto::trace_packet::sequence_flags, perfetto::needs_incremental_state);
      }
      to.message(perfetto::trace_packet::track_event, write_event);
    });
  };
  auto const event = [&](event_type type) {
    to.number(perfetto::track_event::type, static_cast<std::uint64_t>(type));
    to.room(perfetto::track_event::track, track);
  };
  auto const arrow = [&](flow_direction direction) {
    to.message(perfetto::track_event::legacy, [&] {
      to.room(perfetto::legacy_event::bind, task);
      to.number(perfetto::legacy_event::direction, static_cast<std::uint64_t>(direction));
    });
  };
  auto const value = [&](std::uint64_t name) {
    to.message(perfetto::track_event::annotations, [&] {
      to.number(perfetto::annotation::name, name);
      to.room(perfetto::annotation::number, duration);
    });
  };
  packet(true, [&] {
    event(event_type::instant);
    to.number(perfetto::track_event::name, texts_.submit);
    arrow(flow_direction::out);
  });
  packet(true, [&] {
    event(event_type::begin);
    to.number(perfetto::track_event::name, texts_.kernel);
    to.number(perfetto::track_event::categories, texts_.category);
    arrow(flow_direction::in_out);
    value(texts_.queue);
    value(texts_.run);
  });
  packet(false, [&] { event(event_type::end); });
  size_ = to.size();
  for (place& each : places_) {
    std::memcpy(&each.around, bytes_.data() + each.offset, sizeof each.around);
  }
}

// Writes 8 bytes at once. If the number has fewer, the bytes behind it come from the template, and
// the numbers among them are written later.
void launch_packets::put(place const& where, std::uint64_t value, char* packets) noexcept {
  char* const to = packets + where.offset;
  if (where.width > sizeof value) [[unlikely]] {
    for (unsigned i = 0; i + 1 < where.width; ++i, value >>= 7) {
      to[i] = static_cast<char>(value | 0x80);
    }
    to[where.width - 1] = static_cast<char>(value);
    return;
  }
  std::uint64_t const bytes = spread(value) | where.around;
  std::memcpy(to, &bytes, sizeof bytes);
}

void launch_packets::append(values const& of, std::string& to) {
  std::array<std::uint64_t, numbers> const largest{std::max({of.submitted, of.from, of.ended}),
                                                   std::max(of.thread, of.row), of.number,
                                                   std::max(of.queue, of.run)};
  bool fits = true;
  for (unsigned i = 0; i < numbers; ++i) { fits = fits && largest[i] <= bounds_[i]; }
  if (!fits) [[unlikely]] {
    for (unsigned i = 0; i < numbers; ++i) {
      widths_[i] = std::max(widths_[i], width_of(largest[i]));
      bounds_[i] = bound_of(widths_[i]);
    }
    build();
  }
  // The copy comes first: numbers written to the template would delay the copy of these bytes.
  std::size_t const begin = to.size();
  to.append(bytes_.data(), size_ + sizeof(std::uint64_t));
  char* const packets = to.data() + begin;
  std::uint64_t const all[] = {of.submitted, of.thread, of.number, of.from,  of.row,
                               of.number,    of.queue,  of.run,    of.ended, of.row};
  for (std::size_t i = 0; i < places_.size(); ++i) { put(places_[i], all[i], packets); }
  to.resize(begin + size_);
}

}  // namespace flotilla::dispatch
