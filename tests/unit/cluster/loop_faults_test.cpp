// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// testing::loop: ranks that fail, calls that are refused, messages that wait, and wrong arguments.
#include <flotilla/testing/loop_transport.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>

#include "unit/cluster/loop_rank.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using testing::loop;

/// Whether a request has ended because the process of the other rank has failed.
[[nodiscard]] bool has_failed(loop_rank const& rank, transport_event const& event) {
  return rank.text_of(event.status).find("other rank has failed") != std::string::npos;
}

// requirement: every function of a rank that was killed returns an error
TEST(LoopFaults, AKilledRankCannotCall) {
  loop all{2};
  loop_ranks ranks{all, 2};
  transport const& via = ranks[0].via;
  std::string data = "?";
  int const open = ranks[0].receive(data, 1);
  ranks[0].send("a", 1);
  all.kill(0);
  all.kill(0);  // has no effect
  int request = -1, count = -1;
  transport_event event;
  std::vector<int> const statuses{
      via.isend(via.self, data.data(), 1, 1, 0, &request),
      via.irecv(via.self, data.data(), 1, 1, 0, &request),
      via.testsome(via.self, &event, 1, &count),
      via.cancel(via.self, open),
  };
  for (int const status : statuses) {
    EXPECT_NE(ranks[0].text_of(status).find("this rank has failed"), std::string::npos) << status;
  }
  EXPECT_EQ(request, -1);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(all.counters(0).messages_sent, 1u);
}

// requirement: requests of other ranks that need the killed rank end with an error, those that were
// open and those that begin later; what it sent before arrives
TEST(LoopFaults, RequestsWithAKilledRankFail) {
  loop all{3, {.eager_bytes = 4}};
  loop_ranks ranks{all, 3};
  std::string never = "?", sent_before = "?", from_any = "?";
  ranks[0].send("a", 1, 5);  // arrives
  int const receive = ranks[1].receive(never, 0);
  int const others = ranks[1].receive(from_any, any);
  int const unmatched = ranks[1].send("large", 0);
  all.kill(0);

  std::vector<transport_event> events = ranks[1].look();
  ASSERT_EQ(events.size(), 2u);
  for (transport_event const& each : events) {
    EXPECT_TRUE(each.request == receive || each.request == unmatched) << each.request;
    EXPECT_TRUE(has_failed(ranks[1], each)) << each.status;
  }
  for (char const* data : {"", "large"}) {
    int const late = ranks[1].send(data, 0);
    transport_event const event = ranks[1].only();
    EXPECT_EQ(event.request, late);
    EXPECT_TRUE(has_failed(ranks[1], event)) << event.status;
  }
  int const matched = ranks[1].receive(sent_before, 0, 5);
  transport_event event = ranks[1].only();
  EXPECT_EQ(event.request, matched);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(sent_before, "a");
  int const second = ranks[1].receive(sent_before, 0, 5);
  event = ranks[1].only();
  EXPECT_EQ(event.request, second);
  EXPECT_TRUE(has_failed(ranks[1], event)) << event.status;

  ranks[2].send("b", 1);
  event = ranks[1].only();
  EXPECT_EQ(event.request, others);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(never + from_any, "?b");
}

// error guess: large messages of a killed rank do not arrive, even if they were held, and a send
// whose message the killed rank has matched but not seen ends
TEST(LoopFaults, KillEndsLargeSendsOnBothSides) {
  loop all{2, {.eager_bytes = 0}};
  loop_ranks ranks{all, 2};
  std::string got = "?????", taken = "?";
  ranks[0].send("large", 1, 1);
  all.hold(0, 1);
  ranks[0].send("large", 1, 2);
  ranks[0].receive(taken, 1);
  int const matched = ranks[1].send("b", 0);
  EXPECT_TRUE(ranks[1].look().empty());
  all.kill(0);
  all.release(0, 1);
  transport_event const event = ranks[1].only();
  EXPECT_EQ(event.request, matched);
  EXPECT_TRUE(has_failed(ranks[1], event)) << event.status;
  for (int const tag : {1, 2}) {
    ranks[1].receive(got, 0, tag);
    EXPECT_TRUE(has_failed(ranks[1], ranks[1].only()));
  }
  EXPECT_EQ(got, "?????");
}

// requirement: with a seed, open receives fail after at most max_delay looks, not always at once
TEST(LoopFaults, FailuresAreNoticedLate) {
  std::vector<int> looks_until(8);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    loop all{2, {.seed = seed, .max_delay = 5}};
    loop_ranks ranks{all, 2};
    std::string data = "?";
    ranks[1].receive(data, 0);
    all.kill(0);
    ranks[1].receive(data, 0);  // is not noticed earlier
    std::size_t looks = 1, failed = 0;
    for (; looks < 7; ++looks) {
      failed = ranks[1].look().size();
      if (failed != 0) { break; }
    }
    EXPECT_EQ(failed, 2u);
    ++looks_until[looks];
  }
  for (std::size_t looks = 1; looks <= 5; ++looks) { EXPECT_GT(looks_until[looks], 0) << looks; }
  EXPECT_EQ(looks_until[6] + looks_until[7], 0);
}

// requirement: so many calls of one rank fail without an effect, and later ones succeed
TEST(LoopFaults, RefusesCalls) {
  loop all{2};
  loop_ranks ranks{all, 2};
  transport const& via = ranks[0].via;
  std::string data = "?";
  all.refuse_next(0, 5);
  all.refuse_next(0, 2);
  int request = -1;
  int const status = via.isend(via.self, data.data(), 1, 1, 0, &request);
  EXPECT_NE(ranks[0].text_of(status).find("refused"), std::string::npos) << status;
  ranks[1].send("a", 0);  // other ranks are not affected
  EXPECT_EQ(via.irecv(via.self, data.data(), 1, 1, 0, &request), status);
  EXPECT_EQ(request, -1);
  EXPECT_TRUE(ranks[0].look().empty());
  ranks[0].receive(data, 1);
  EXPECT_EQ(ranks[0].only().status, 0);
  EXPECT_EQ(all.counters(0).messages_sent, 0u);
}

// requirement: messages in one direction wait, and arrive in order afterwards; other messages and
// those that had arrived do not wait
TEST(LoopFaults, HoldsMessages) {
  loop all{3};
  loop_ranks ranks{all, 3};
  std::string first = "?", second = "?", third = "?";
  ranks[0].send("a", 1);
  all.hold(0, 1);
  ranks[0].send("b", 1);
  ranks[0].send("c", 1);
  ranks[1].receive(first, any);
  EXPECT_EQ(ranks[1].only().source, 0);
  EXPECT_EQ(first, "a");
  ranks[1].receive(second, any);
  EXPECT_TRUE(ranks[1].look().empty());
  ranks[2].send("d", 1);
  EXPECT_EQ(ranks[1].only().source, 2);
  ranks[1].send("e", 0);
  ranks[0].receive(first, 1);
  EXPECT_EQ(ranks[0].look().size(), 4u);  // its three sends too

  // The receive that waits comes before one that begins now.
  ranks[1].receive(second, 0);
  all.release(0, 1);
  ranks[1].receive(third, 0);
  ranks[0].send("f", 1);
  EXPECT_EQ(ranks[1].look().size(), 3u);  // its send too
  EXPECT_EQ(first + second + third, "ebc");
  ranks[1].receive(third, 0);
  EXPECT_EQ(ranks[1].only().status, 0);
  EXPECT_EQ(third, "f");
}

// boundary: arguments that no rank, tag or memory has
TEST(LoopFaults, RefusesWrongArguments) {
  loop all{2};
  loop_ranks ranks{all, 2};
  transport const& via = ranks[0].via;
  char data = 0;
  int request = -1, count = -1;
  for (int const to : {-1, 2}) { EXPECT_GT(via.isend(via.self, &data, 1, to, 0, &request), 0); }
  for (int const from : {-2, 2}) { EXPECT_GT(via.irecv(via.self, &data, 1, from, 0, &request), 0); }
  for (int const tag : {-1, transport::max_tag + 1}) {
    EXPECT_GT(via.isend(via.self, &data, 1, 1, tag, &request), 0);
    EXPECT_GT(via.irecv(via.self, &data, 1, 1, tag, &request), 0);
  }
  EXPECT_GT(via.isend(via.self, nullptr, 1, 1, 0, &request), 0);
  EXPECT_GT(via.irecv(via.self, nullptr, 1, 1, 0, &request), 0);
  EXPECT_GT(via.testsome(via.self, nullptr, -1, &count), 0);
  EXPECT_EQ(request, -1);

  EXPECT_THROW(static_cast<void>(all.rank(0)), invalid_argument);
  for (int const rank : {-1, 2}) {
    EXPECT_THROW(static_cast<void>(all.rank(rank)), invalid_argument);
    EXPECT_THROW(all.kill(rank), invalid_argument);
    EXPECT_THROW(all.refuse_next(rank, 1), invalid_argument);
    EXPECT_THROW(all.hold(rank, 0), invalid_argument);
    EXPECT_THROW(all.hold(0, rank), invalid_argument);
    EXPECT_THROW(all.release(rank, 0), invalid_argument);
    EXPECT_THROW(all.release(0, rank), invalid_argument);
    EXPECT_THROW(static_cast<void>(all.now(rank)), invalid_argument);
    EXPECT_THROW(all.advance(rank, 1ns), invalid_argument);
    EXPECT_THROW(static_cast<void>(all.counters(rank)), invalid_argument);
  }
  EXPECT_THROW(all.refuse_next(0, -1), invalid_argument);
  EXPECT_THROW(all.advance(0, -1ns), invalid_argument);
  EXPECT_THROW(loop{0}, invalid_argument);
  EXPECT_THROW((loop{1, {.max_delay = -1}}), invalid_argument);
  EXPECT_THROW((loop{1, {.latency = -1ns}}), invalid_argument);
  EXPECT_THROW((loop{1, {.bytes_per_second = -1}}), invalid_argument);
  double const no_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((loop{1, {.bytes_per_second = no_number}}), invalid_argument);
  EXPECT_THROW((loop{1, {.local_ranks = -1}}), invalid_argument);
}

// boundary: texts of errors fit into the memory, and end with a zero
TEST(LoopFaults, DescribesErrors) {
  loop all{1};
  loop_rank const rank{all, 0};
  std::vector<std::string> texts;
  for (int status = -1; rank.text_of(status) != "unknown error"; ++status) {
    texts.push_back(rank.text_of(status));
  }
  EXPECT_EQ(texts.size(), 10u);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
  EXPECT_EQ(rank.text_of(-2), "unknown error");
  std::string text = "######";
  rank.via.describe(rank.via.self, 0, text.data(), 5);
  EXPECT_EQ(text, std::string("succ\0#", 6));
  rank.via.describe(rank.via.self, 0, text.data(), 0);
  EXPECT_EQ(text[0], 's');
}

}  // namespace
}  // namespace flotilla::test
