// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The prepared packets of launches.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "dispatch/trace/launch_packets.hpp"
#include "dispatch/trace/packet_stream.hpp"
#include "trace_packets.hpp"

namespace flotilla::test {
namespace {

using dispatch::launch_packets;
using dispatch::packet_stream;
using dispatch::perfetto::interned_data;
using event = tool::packet_event;

/// Writes launches, and decodes them.
class written_launches {
 public:
  written_launches()
      : packets_{{stream_.intern(interned_data::event_names, "a kernel"),
                  stream_.intern(interned_data::event_names, "submit"),
                  stream_.intern(interned_data::categories, "task"),
                  stream_.intern(interned_data::annotation_names, "queue_ns"),
                  stream_.intern(interned_data::annotation_names, "run_ns")}} {}
  void append(launch_packets::values const& of) { packets_.append(of, stream_.bytes()); }
  [[nodiscard]] std::size_t bytes() { return stream_.bytes().size(); }
  [[nodiscard]] std::vector<event> decoded() {
    return tool::decode_packets(stream_.bytes()).events;
  }

 private:
  packet_stream stream_;
  launch_packets packets_;
};

void expect_launch(launch_packets::values const& of, event const* events) {
  event const &submit = events[0], &begin = events[1], &end = events[2];
  EXPECT_EQ(submit.type, event::types::instant);
  EXPECT_EQ(submit.name, "submit");
  EXPECT_EQ(submit.track, of.thread);
  EXPECT_EQ(static_cast<std::uint64_t>(submit.when), of.submitted);
  EXPECT_EQ(submit.direction, event::directions::out);
  EXPECT_EQ(submit.bind, of.number);
  EXPECT_EQ(begin.type, event::types::begin);
  EXPECT_EQ(begin.name, "a kernel");
  EXPECT_EQ(begin.category, "task");
  EXPECT_EQ(begin.track, of.row);
  EXPECT_EQ(static_cast<std::uint64_t>(begin.when), of.from);
  EXPECT_EQ(begin.direction, event::directions::in_out);
  EXPECT_EQ(begin.bind, of.number);
  EXPECT_EQ(begin.values.at("queue_ns"), of.queue);
  EXPECT_EQ(begin.values.at("run_ns"), of.run);
  EXPECT_EQ(end.type, event::types::end);
  EXPECT_EQ(end.track, of.row);
  EXPECT_EQ(static_cast<std::uint64_t>(end.when), of.ended);
}

// requirement: whatever the sizes of the numbers, and in whatever order the sizes come
TEST(LaunchPackets, NumbersOfAllSizesAreReadBack) {
  std::mt19937_64 random{5};
  auto const number = [&](unsigned max_bits) { return random() >> (64 - 1 - random() % max_bits); };
  written_launches all;
  std::vector<launch_packets::values> expected;
  for (int i = 0; i < 2000; ++i) {
    expected.push_back({.submitted = number(50),
                        .from = number(50),
                        .ended = number(50),
                        .thread = 1 + number(20),
                        .row = 1 + number(20),
                        .number = number(63),
                        .queue = number(50),
                        .run = number(50)});
    all.append(expected.back());
  }
  std::vector<event> const found = all.decoded();
  ASSERT_EQ(found.size(), 3 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_launch(expected[i], &found[3 * i]);
  }
}

// boundary: the smallest and the largest numbers, which need the most bytes
TEST(LaunchPackets, LargestNumbersFit) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  launch_packets::values const small{0, 0, 0, 1, 1, 0, 0, 0};
  launch_packets::values const large{most >> 1, most >> 1, most >> 1, most, most, most, most, most};
  written_launches all;
  for (auto const& each : {small, large, small}) { all.append(each); }
  std::vector<event> const found = all.decoded();
  ASSERT_EQ(found.size(), 9u);
  expect_launch(small, &found[0]);
  expect_launch(large, &found[3]);
  expect_launch(small, &found[6]);
}

// requirement: a launch needs at most 100 bytes in the first 17 minutes of a trace
TEST(LaunchPackets, LaunchIsSmall) {
  written_launches all;
  std::size_t const before = all.bytes();
  all.append({.submitted = 1'000'000'000'000,
              .from = 1'000'000'100'000,
              .ended = 1'000'000'200'000,
              .thread = 100,
              .row = 100,
              .number = std::uint64_t{1} << 40,
              .queue = 100'000,
              .run = 100'000});
  EXPECT_LE(all.bytes() - before, 100u);
}

}  // namespace
}  // namespace flotilla::test
