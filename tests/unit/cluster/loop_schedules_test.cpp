// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// testing::loop: messages that are late, and many ranks.
#include <flotilla/testing/loop_transport.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/cluster/loop_rank.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using testing::loop;

/// What a message says about itself.
struct letter {
  int from = -1;
  int number = -1;  // of the messages with the same sender, receiver and tag
};

/// Sends letters between four ranks and receives each once, in random order, in one thread.
class correspondence {
 public:
  static constexpr int ranks = 4, tags = 3, letters = 300;

  correspondence(testing::loop_options const& options, unsigned schedule)
      : all_{ranks, options}, ranks_{all_, ranks}, random_{schedule} {
    std::vector<operation> todo;
    for (int i = 0; i < letters; ++i) {
      operation const send{.from = below(ranks), .to = below(ranks), .tag = below(tags)};
      operation receive = send;
      receive.sends = false;
      todo.insert(todo.end(), {send, receive});
    }
    std::shuffle(todo.begin(), todo.end(), random_);
    for (operation const& each : todo) {
      each.sends ? send(each) : receive(each);
      look(below(ranks));
    }
    for (int i = 0; i < 10'000 && received < letters; ++i) { look(i % ranks); }
  }

  /// The letters of a sender that receives with one tag of a rank have got, in the order of the
  /// receives.
  std::vector<int> numbers(int from, int to, int tag) const {
    std::vector<int> found;
    for (box const& each : boxes_) {
      if (each.to == to && each.tag == tag && each.data.from == from) {
        found.push_back(each.data.number);
      }
    }
    return found;
  }
  int sent(int from, int to, int tag) const {
    auto const found = sent_.find({from, to, tag});
    return found == sent_.end() ? 0 : found->second;
  }

  int received = 0, wrong = 0;
  std::vector<std::array<int, 3>> events;  // rank, request, source

 private:
  struct operation {
    int from = 0, to = 0, tag = 0;
    bool sends = true;
  };
  struct box {
    letter data{};
    int to = 0, tag = 0;
    bool is_full = false;
  };

  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  transport const& via(int rank) { return ranks_.of(rank).via; }
  void send(operation const& what) {
    letter const& made = data_.emplace_back(
        letter{.from = what.from, .number = sent_[{what.from, what.to, what.tag}]++});
    int request = -1;
    wrong += via(what.from).isend(via(what.from).self, &made, sizeof made, what.to, what.tag,
                                  &request) != 0;
  }
  /// Receives with tag 0 take letters from any rank.
  void receive(operation const& what) {
    box& made = boxes_.emplace_back(box{.to = what.to, .tag = what.tag});
    int const from = what.tag == 0 ? any : what.from;
    int request = -1;
    wrong += via(what.to).irecv(via(what.to).self, &made.data, sizeof made.data, from, what.tag,
                                &request) != 0;
    open_[{what.to, request}] = &made;
  }
  void look(int rank) {
    for (transport_event const& each : ranks_.of(rank).look(1 + below(6))) {
      events.push_back({rank, each.request, each.source});
      auto const found = open_.find({rank, each.request});
      wrong += each.status != 0;
      if (found == open_.end()) { continue; }  // a send
      box& filled = *found->second;
      wrong += filled.is_full || each.bytes != sizeof(letter) || each.source != filled.data.from;
      filled.is_full = true;
      ++received;
      open_.erase(found);
    }
  }

  loop all_;
  loop_ranks ranks_;
  std::minstd_rand random_;
  std::map<std::array<int, 3>, int> sent_;
  std::deque<letter> data_;
  std::deque<box> boxes_;  // in the order of the receives
  std::map<std::pair<int, int>, box*> open_;
};

// requirement: late messages do not overtake those of the same sender with the same tag, and none
// is lost or doubled; small and large messages alike
TEST(LoopSchedules, LateMessagesStayInOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::size_t const eager_bytes : {0u, 1000u}) {
      correspondence const done{{.seed = seed, .max_delay = 20, .eager_bytes = eager_bytes},
                                static_cast<unsigned>(seed + 1)};
      EXPECT_EQ(done.received, correspondence::letters);
      EXPECT_EQ(done.wrong, 0);
      for (int from = 0; from < correspondence::ranks; ++from) {
        for (int to = 0; to < correspondence::ranks; ++to) {
          for (int tag = 0; tag < correspondence::tags; ++tag) {
            std::vector<int> expected(static_cast<std::size_t>(done.sent(from, to, tag)));
            std::iota(expected.begin(), expected.end(), 0);
            ASSERT_EQ(done.numbers(from, to, tag), expected) << "seed " << seed;
          }
        }
      }
    }
  }
}

// requirement: the seed alone decides what happens
TEST(LoopSchedules, SameSeedSameEvents) {
  auto const events = [](std::uint64_t seed) { return correspondence{{.seed = seed}, 1}.events; };
  EXPECT_EQ(events(5), events(5));
  EXPECT_NE(events(5), events(6));
}

/// Sends messages with different tags. Returns their tags in the order of the events, and after how
/// many looks each came.
std::vector<std::pair<int, int>> arrivals(testing::loop_options const& options, int messages) {
  loop all{2, options};
  loop_ranks ranks{all, 2};
  std::vector<std::string> got(static_cast<std::size_t>(messages), "?");
  for (int tag = 0; tag < messages; ++tag) {
    EXPECT_EQ(ranks[1].receive(got[static_cast<std::size_t>(tag)], 0, tag), tag);
  }
  for (int tag = 0; tag < messages; ++tag) { ranks[0].send("a", 1, tag); }
  std::vector<std::pair<int, int>> found;
  for (int looks = 1; looks <= 100; ++looks) {
    for (transport_event const& each : ranks[1].look()) { found.emplace_back(each.request, looks); }
  }
  return found;
}

// requirement: without a seed, messages come at once and in order
TEST(LoopSchedules, WithoutSeedNothingIsLate) {
  std::vector<std::pair<int, int>> expected;
  for (int tag = 0; tag < 50; ++tag) { expected.emplace_back(tag, 1); }
  EXPECT_EQ(arrivals({.max_delay = 5}, 50), expected);
}

// requirement: with a seed, messages are late by up to max_delay looks, messages with different
// tags overtake each other, and events of one look come in random order
TEST(LoopSchedules, WithSeedMessagesAreLate) {
  auto const late = arrivals({.seed = 1, .max_delay = 5}, 50);
  EXPECT_EQ(late.size(), 50u);
  std::set<int> looks, tags;
  for (auto const& [tag, look] : late) {
    tags.insert(tag);
    looks.insert(look);
  }
  EXPECT_EQ(tags.size(), 50u);
  EXPECT_EQ(looks, (std::set<int>{1, 2, 3, 4, 5}));
  auto const unordered = arrivals({.seed = 1, .max_delay = 0}, 50);
  EXPECT_EQ(unordered.size(), 50u);
  EXPECT_FALSE(std::is_sorted(unordered.begin(), unordered.end()));
  for (auto const& [tag, look] : unordered) { EXPECT_EQ(look, 1) << tag; }
}

// requirement: messages that were held and are late keep their order too
TEST(LoopSchedules, HeldAndLateMessagesStayInOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    loop all{2, {.seed = seed, .max_delay = 3}};
    loop_ranks ranks{all, 2};
    std::string got;
    std::string const letters = "abcdefgh";
    std::array<char, 8> boxes{};
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (i == 2) { all.hold(0, 1); }
      if (i == 5) { all.release(0, 1); }
      int request = -1;
      ranks[0].send(std::string_view{letters}.substr(i, 1), 1);
      transport const& via = ranks[1].via;
      ASSERT_EQ(via.irecv(via.self, &boxes[i], 1, 0, 0, &request), 0);
      if (i % 2 == 0) { ranks[1].look(0); }
    }
    std::size_t ended = 0;
    for (int i = 0; i < 4; ++i) { ended += ranks[1].look().size(); }
    EXPECT_EQ(ended, boxes.size());
    EXPECT_EQ(std::string(boxes.begin(), boxes.end()), letters) << "seed " << seed;
  }
}

// stress: a token goes round 1000 ranks, which all wait for it, and then back
TEST(LoopSchedules, ThousandRanksInARing) {
  constexpr int count = 1000;
  loop all{count, {.latency = 1us}};
  loop_ranks ranks{all, count};
  std::vector<std::string> got(count), sent(count);
  for (int const step : {1, count - 1}) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      got[rank] = "????";
      ranks[rank].receive(got[rank], any);
    }
    std::size_t at = 0;
    for (int i = 0; i < count; ++i) {
      std::size_t const next = (at + static_cast<std::size_t>(step)) % count;
      sent[at] = std::to_string(1000 + i);
      ranks[at].send(sent[at], static_cast<int>(next));
      std::vector<transport_event> const events = ranks[next].look();
      ASSERT_EQ(events.size(), i + 1 < count ? 1u : 2u);  // the first rank's send has ended too
      EXPECT_EQ(events.front().status, 0);
      EXPECT_EQ(got[next], sent[at]);
      at = next;
    }
    EXPECT_EQ(at, 0u);
    for (loop_rank const& each : ranks) { each.look(); }
  }
  EXPECT_EQ(all.now(0), 2000us);
  EXPECT_EQ(all.counters().messages_sent, 2u * count);
  EXPECT_EQ(all.max_bytes_in_flight(), 4u);
}

}  // namespace
}  // namespace flotilla::test
