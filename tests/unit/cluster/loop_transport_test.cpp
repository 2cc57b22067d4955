// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// testing::loop: messages between ranks in one process, without faults.
#include <flotilla/testing/loop_transport.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>

#include "unit/cluster/loop_rank.hpp"

namespace flotilla::test {
namespace {

using testing::loop;

// requirement: the table says which rank of which machine it is
TEST(LoopTransport, DescribesTheRanks) {
  loop all{5, {.local_ranks = 2}};
  loop_ranks const ranks{all, 5};
  for (int rank = 0; rank < 5; ++rank) {
    transport const& via = ranks[static_cast<std::size_t>(rank)].via;
    EXPECT_EQ(via.rank, rank);
    EXPECT_EQ(via.ranks, 5);
    EXPECT_EQ(via.world_ranks, 5);
    EXPECT_EQ(via.local_rank, rank % 2);
    EXPECT_EQ(via.local_ranks, rank == 4 ? 1 : 2);  // the last machine has the rest
  }
  loop one_machine{3};
  transport const last = one_machine.rank(2);
  EXPECT_EQ(last.local_rank, 2);
  EXPECT_EQ(last.local_ranks, 3);
  last.close(last.self);
}

// requirement: messages with one tag match receives in the order of sending, whether the receives
// or the messages are first, and receives match in the order of the calls
TEST(LoopTransport, MatchesInOrder) {
  loop all{2};
  loop_ranks ranks{all, 2};
  std::string first = "....", second = "....";
  for (bool const receives_first : {true, false}) {
    auto const send = [&] {
      ranks[0].send("one", 1, 7);
      ranks[0].send("four", 1, 7);
    };
    if (!receives_first) { send(); }
    int const a = ranks[1].receive(first, 0, 7);
    int const b = ranks[1].receive(second, 0, 7);
    EXPECT_NE(a, b);
    if (receives_first) { send(); }
    std::vector<transport_event> const events = ranks[1].look();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].request, a);
    EXPECT_EQ(events[0].source, 0);
    EXPECT_EQ(events[0].bytes, 3u);
    EXPECT_EQ(events[0].status, 0);
    EXPECT_EQ(events[1].request, b);
    EXPECT_EQ(events[1].bytes, 4u);
    EXPECT_EQ(first, "one.");
    EXPECT_EQ(second, "four");
    EXPECT_EQ(ranks[0].look().size(), 2u);
  }
}

// requirement: a receive takes only messages with its tag and from its source
TEST(LoopTransport, TagsAndSourcesMustMatch) {
  loop all{3};
  loop_ranks ranks{all, 3};
  std::string tag = "?", source = "?", both = "?";
  ranks[2].receive(tag, any, transport::max_tag);
  int const from_one = ranks[2].receive(source, 1, 0);
  ranks[0].send("a", 2, 0);
  EXPECT_TRUE(ranks[2].look().empty());
  ranks[1].send("b", 2, 0);
  EXPECT_EQ(ranks[2].only().request, from_one);
  ranks[1].send("c", 2, 1);
  ranks[2].receive(both, 0, 0);
  EXPECT_EQ(ranks[2].only().source, 0);
  ranks[0].send("d", 2, transport::max_tag);
  EXPECT_EQ(ranks[2].only().source, 0);
  EXPECT_EQ(source + both + tag, "bad");
}

// requirement: a receive from any source takes a message of every rank, also of its own, and says
// of which
TEST(LoopTransport, AnySourceNamesTheSource) {
  loop all{4};
  loop_ranks ranks{all, 4};
  std::string data = "?";
  for (int const from : {3, 1, 2, 0}) {
    std::string const sent = std::to_string(from);
    ranks.of(from).send(sent, 2);
    int const request = ranks[2].receive(data, any);
    std::optional<transport_event> received;
    for (transport_event const& each : ranks[2].look()) {
      if (each.request == request) { received = each; }
    }
    ASSERT_TRUE(received);
    EXPECT_EQ(received->source, from);
    EXPECT_EQ(data, sent);
  }
}

// boundary: empty messages, the largest message that is copied, the smallest that is not
TEST(LoopTransport, SizesFromNothingToAMegabyte) {
  for (std::size_t const bytes : {0u, 1u, 63u, 4096u, 16384u, 16385u, 1u << 20}) {
    loop all{2};
    loop_ranks ranks{all, 2};
    std::string const sent = text_of_size(bytes);
    for (bool const receive_first : {true, false}) {
      std::string got(bytes, '?');
      if (receive_first) { ranks[1].receive(got, 0); }
      ranks[0].send(sent, 1);
      if (!receive_first) { ranks[1].receive(got, 0); }
      EXPECT_EQ(ranks[1].only().bytes, bytes);
      EXPECT_EQ(got, sent);
      EXPECT_EQ(ranks[0].only().status, 0);
    }
    EXPECT_EQ(all.max_bytes_in_flight(), bytes);
    EXPECT_EQ(all.counters(0).bytes_sent, 2 * bytes);
  }
  loop all{1};
  loop_rank alone{all, 0};
  int request = -1;
  ASSERT_EQ(alone.via.isend(alone.via.self, nullptr, 0, 0, 0, &request), 0);
  ASSERT_EQ(alone.via.irecv(alone.via.self, nullptr, 0, 0, 0, &request), 0);
  EXPECT_EQ(alone.look().size(), 2u);
}

// requirement: a small send ends at once and was copied; a large one ends after the receiver's
// testsome has returned it
TEST(LoopTransport, LargeSendsWaitForTheReceiver) {
  loop all{2, {.eager_bytes = 4}};
  loop_ranks ranks{all, 2};
  std::string small = "1234", large = "12345", got = "?????";
  int const first = ranks[0].send(small, 1);
  EXPECT_EQ(ranks[0].only().request, first);
  small = "----";
  int const second = ranks[0].send(large, 1);
  EXPECT_TRUE(ranks[0].look().empty());
  ranks[1].receive(got, 0);
  EXPECT_EQ(ranks[1].only().bytes, 4u);
  EXPECT_EQ(got, "1234?");
  ranks[1].receive(got, 0);
  EXPECT_TRUE(ranks[0].look().empty());
  EXPECT_EQ(ranks[1].only().bytes, 5u);
  EXPECT_EQ(got, "12345");
  EXPECT_EQ(ranks[0].only().request, second);
}

// requirement: a message that is longer than the receive fills it, and the status says so
TEST(LoopTransport, LongMessagesAreCutOff) {
  for (std::size_t const eager_bytes : {0u, 100u}) {
    loop all{2, {.eager_bytes = eager_bytes}};
    loop_ranks ranks{all, 2};
    std::string memory = "..!";
    int request = -1;
    ASSERT_EQ(ranks[1].via.irecv(ranks[1].via.self, memory.data(), 2, 0, 0, &request), 0);
    ranks[0].send("1234", 1);
    transport_event const event = ranks[1].only();
    EXPECT_NE(ranks[1].text_of(event.status).find("longer"), std::string::npos);
    EXPECT_EQ(event.bytes, 4u);
    EXPECT_EQ(memory, "12!");
    EXPECT_EQ(ranks[0].only().status, 0);
  }
}

// requirement: at most `capacity` events are returned, none is lost, and a number is used again
// only after its event was returned
TEST(LoopTransport, ReturnsNoMoreEventsThanFit) {
  loop all{2};
  loop_ranks ranks{all, 2};
  std::vector<std::string> got(5, "?");
  std::set<int> open;
  for (auto& each : got) { EXPECT_TRUE(open.insert(ranks[1].receive(each, 0)).second); }
  EXPECT_EQ(*open.rbegin(), 4);  // small numbers
  for (char const* each : {"a", "b", "c", "d", "e"}) { ranks[0].send(each, 1); }
  EXPECT_TRUE(ranks[1].look(0).empty());
  for (std::size_t const expected : {2u, 2u, 1u, 0u}) {
    std::vector<transport_event> const events = ranks[1].look(2);
    EXPECT_EQ(events.size(), expected);
    for (transport_event const& each : events) { EXPECT_EQ(open.erase(each.request), 1u); }
    std::string unused = "?";
    if (expected == 2) { EXPECT_TRUE(open.insert(ranks[1].receive(unused, 0, 1)).second); }
  }
  EXPECT_LT(*open.rbegin(), 5);  // numbers of ended requests are used again
  EXPECT_EQ(open.size(), 2u);    // the receives that nothing was sent for
  EXPECT_EQ(got, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

// requirement: a cancelled receive takes no message, and its event says that it was cancelled; a
// receive that has a message already ends as usual
TEST(LoopTransport, CancelsReceives) {
  loop all{2};
  loop_ranks ranks{all, 2};
  transport const& via = ranks[1].via;
  std::string cancelled = "?", got = "?";
  int const first = ranks[1].receive(cancelled, 0);
  int const second = ranks[1].receive(got, 0);
  EXPECT_EQ(via.cancel(via.self, first), 0);
  ranks[0].send("a", 1);
  EXPECT_EQ(via.cancel(via.self, second), 0);
  std::vector<transport_event> const events = ranks[1].look();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].request, first);
  EXPECT_EQ(events[0].status, -1);
  EXPECT_EQ(events[1].request, second);
  EXPECT_EQ(events[1].status, 0);
  EXPECT_EQ(cancelled + got, "?a");
  int const sent = ranks[1].send("b", 0);
  for (int const wrong : {-1, first == sent ? second : first, sent, 1000}) {
    EXPECT_GT(via.cancel(via.self, wrong), 0) << wrong;
  }
}

// requirement: close cancels the receives, and later messages do not write to their memory
TEST(LoopTransport, CloseEndsOpenReceives) {
  std::optional<loop> all{std::in_place, 2, testing::loop_options{.eager_bytes = 4}};
  loop_ranks ranks{*all, 2};
  std::string memory = "?????", unseen = "?";
  ranks[1].receive(unseen, 0, 3);
  ranks[0].send("u", 1, 3);  // is received, but `testsome` does not return it
  ranks[1].receive(memory, any);
  ranks[1].receive(memory, 0, 1);
  ranks[0].send("lost", 1, 2);
  int const waiting = ranks[0].send("waits", 1, 2);
  ranks[1].close();
  int const small = ranks[0].send("a", 1);
  int const large = ranks[0].send("abcde", 1);
  std::vector<int> statuses(5);
  for (transport_event const& each : ranks[0].look()) {
    statuses[static_cast<std::size_t>(each.request)] = each.status;
  }
  EXPECT_EQ(statuses[static_cast<std::size_t>(small)], 0);
  for (int const each : {waiting, large}) {
    std::string const text = ranks[0].text_of(statuses[static_cast<std::size_t>(each)]);
    EXPECT_NE(text.find("closed"), std::string::npos) << text;
  }
  EXPECT_EQ(memory, "?????");
  EXPECT_EQ(all->counters(1).messages_lost, 5u);
  EXPECT_EQ(all->counters().messages_lost, 5u);
  all.reset();  // the transport of rank 0 lives on
  ranks[0].send("b", 0);
  EXPECT_EQ(ranks[0].only().status, 0);
}

// requirement: close gives up sends that wait for their receivers, and does not read their data
// afterwards
TEST(LoopTransport, CloseEndsOpenSends) {
  loop all{2, {.eager_bytes = 0}};
  loop_ranks ranks{all, 2};
  auto data = std::make_unique<std::string>(100, 'a');
  std::string got(100, '?');
  ranks[0].send(*data, 1, 0);
  ranks[0].send(*data, 1, 1);
  ranks[1].receive(got, 0, 1);
  ranks[0].close();
  data.reset();
  EXPECT_EQ(ranks[1].only().bytes, 100u);
  EXPECT_EQ(got, std::string(100, 'a'));
  ranks[1].receive(got, 0, 0);
  EXPECT_TRUE(ranks[1].look().empty());
  EXPECT_EQ(all.max_bytes_in_flight(), 200u);
  std::string const other(200, 'b');
  ranks[1].send(other, 1);  // nothing else is on the way
  EXPECT_EQ(all.max_bytes_in_flight(), 200u);
}

}  // namespace
}  // namespace flotilla::test
