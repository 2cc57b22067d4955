// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// testing::loop: virtual time and counters.
#include <flotilla/testing/loop_transport.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "unit/cluster/loop_rank.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using testing::loop;

// requirement: a message takes its latency and bandwidth, and takes the receiver to this time
TEST(LoopTime, MessagesTakeVirtualTime) {
  loop all{3, {.eager_bytes = 100, .latency = 2us, .bytes_per_second = 1e9}};
  loop_ranks ranks{all, 3};
  std::string const data(1000, 'a');
  std::string got(1000, '?');
  all.advance(0, 10us);
  ranks[0].send(data, 1);
  ranks[1].receive(got, 0);
  EXPECT_EQ(all.now(1), 0us);
  EXPECT_EQ(ranks[1].only().status, 0);
  EXPECT_EQ(all.now(1), 13us);
  EXPECT_EQ(all.now(0), 10us);  // sending takes no time
  ranks[1].receive(got, 2);
  ranks[2].send("", 1);  // has arrived long ago, at 2 us
  EXPECT_EQ(ranks[1].only().status, 0);
  EXPECT_EQ(all.now(1), 13us);
  all.advance(1, 1us);
  EXPECT_EQ(all.now(1), 14us);
}

// requirement: without latency and bandwidth, messages take no time
TEST(LoopTime, VirtualTimeIsOffByDefault) {
  loop all{2};
  loop_ranks ranks{all, 2};
  std::string got(4, '?');
  ranks[0].send("abcd", 1);
  ranks[1].receive(got, 0);
  EXPECT_EQ(ranks[1].only().bytes, 4u);
  EXPECT_EQ(all.now(1), 0ns);
}

// requirement: the largest amount that was on the way counts, not the sum
TEST(LoopTime, CountsBytesInFlight) {
  loop all{3, {.eager_bytes = 10}};
  loop_ranks ranks{all, 3};
  std::string got(20, '?');
  ranks[0].send("12345678", 2);
  ranks[1].send("12345678901234567890", 2);
  for (int const from : {0, 1}) {
    ranks[2].receive(got, from);
    EXPECT_EQ(ranks[2].only().source, from);
  }
  ranks[0].send("1234567", 2);
  ranks[2].receive(got, 0);
  EXPECT_EQ(ranks[2].only().source, 0);
  EXPECT_EQ(all.max_bytes_in_flight(), 28u);
  EXPECT_EQ(all.counters(0).messages_sent, 2u);
  EXPECT_EQ(all.counters(0).bytes_sent, 15u);
  EXPECT_EQ(all.counters().messages_sent, 3u);
  EXPECT_EQ(all.counters().bytes_sent, 35u);
  EXPECT_EQ(all.counters().messages_lost, 0u);
}

}  // namespace
}  // namespace flotilla::test
