// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// testing::loop: ranks in different threads. TSan finds what is not synchronized.
#include <flotilla/testing/loop_transport.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "unit/cluster/loop_rank.hpp"

namespace flotilla::test {
namespace {

using testing::loop;

constexpr std::size_t max_message_text = 3000;

[[nodiscard]] std::string message_text(int from, int number) {
  return std::string(static_cast<std::size_t>(number) * 37 % max_message_text,
                     static_cast<char>('a' + (from * 7 + number) % 26));
}

/// Exchanges messages with another rank. Up to 4 sends and 4 receives are open at a time.
/// @return How many messages were wrong.
int exchange_messages(loop_rank const& self, int peer, int messages) {
  struct use {
    std::unique_ptr<std::string> data{};
    int number = -1;  // of a receive
  };
  std::map<int, use> open;
  int sent = 0, posted = 0, ended = 0, sending = 0, receiving = 0, wrong = 0;
  while (ended < 2 * messages) {
    for (; sent < messages && sending < 4; ++sending, ++sent) {
      auto data = std::make_unique<std::string>(message_text(self.via.rank, sent));
      int const request = self.send(*data, peer);
      open[request] = {.data = std::move(data)};
    }
    for (; posted < messages && receiving < 4; ++receiving, ++posted) {
      auto data = std::make_unique<std::string>(max_message_text, '?');
      int const request = self.receive(*data, peer);
      open[request] = {.data = std::move(data), .number = posted};
    }
    std::vector<transport_event> const events = self.look();
    for (transport_event const& each : events) {
      use const& which = open.at(each.request);
      bool const sends = which.number < 0;
      wrong += each.status != 0;
      wrong += !sends && which.data->substr(0, each.bytes) != message_text(peer, which.number);
      --(sends ? sending : receiving);
      ++ended;
      open.erase(each.request);
    }
    if (events.empty()) { std::this_thread::yield(); }
  }
  return wrong;
}

// stress: two threads exchange messages of all sizes in both directions, in order and late
TEST(LoopThreads, TwoRanksExchange) {
  for (std::uint64_t const seed : {0u, 3u}) {
    constexpr int messages = 3000;
    loop all{2, {.seed = seed, .eager_bytes = 1000}};
    loop_ranks ranks{all, 2};
    std::array<int, 2> wrong{-1, -1};
    std::thread other([&] { wrong[1] = exchange_messages(ranks[1], 0, messages); });
    wrong[0] = exchange_messages(ranks[0], 1, messages);
    other.join();
    EXPECT_EQ(wrong, (std::array<int, 2>{0, 0}));
    EXPECT_EQ(all.counters().messages_sent, 2u * messages);
    EXPECT_EQ(all.counters(0).bytes_sent, all.counters(1).bytes_sent);
    EXPECT_GE(all.max_bytes_in_flight(), max_message_text - 37);
  }
}

/// Sends one message to each peer and receives one from each, until something fails.
void exchange_until_failure(loop_rank& self, std::vector<int> const& peers,
                            std::atomic<int>& rounds) {
  transport const& via = self.via;
  // On the heap, so that ASan finds accesses after the end.
  std::string const sent(500, 'a');
  std::vector<std::string> received(peers.size(), std::string(500, '?'));
  bool has_failed = false;
  for (int round = 0; !has_failed; ++round, ++rounds) {
    std::size_t const bytes = round % 2 == 0 ? 50 : sent.size();
    std::size_t open = 0;
    int request = -1;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      bool const begun = via.isend(via.self, sent.data(), bytes, peers[i], 0, &request) == 0;
      bool const posted =
          via.irecv(via.self, received[i].data(), sent.size(), peers[i], 0, &request) == 0;
      open += std::size_t{begun} + std::size_t{posted};
      has_failed = has_failed || !begun || !posted;
    }
    while (open > 0) {
      std::array<transport_event, 8> events;
      int count = 0;
      if (via.testsome(via.self, events.data(), 8, &count) != 0) {
        has_failed = true;
        break;
      }
      for (int i = 0; i < count; ++i) {
        has_failed = has_failed || events[static_cast<std::size_t>(i)].status != 0;
      }
      open -= static_cast<std::size_t>(count);
      if (count == 0) { std::this_thread::yield(); }
    }
  }
  self.close();
}

// stress: a thread holds messages and reads counters while three ranks exchange messages, and kills
// one rank. The others see it, and no memory is used after the end.
TEST(LoopThreads, KillsARankThatIsBusy) {
  for (unsigned round = 0; round < 20; ++round) {
    loop all{3, {.seed = round, .max_delay = 2, .eager_bytes = 100}};
    loop_ranks ranks{all, 3};
    std::atomic<int> rounds{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] { exchange_until_failure(ranks[0], {2}, rounds); });
    threads.emplace_back([&] { exchange_until_failure(ranks[1], {2}, rounds); });
    threads.emplace_back([&] { exchange_until_failure(ranks[2], {0, 1}, rounds); });
    for (int seen = 0; rounds < 100; ++seen) {
      all.hold(2, seen % 2);
      std::uint64_t const of_one = all.counters(2).bytes_sent;
      EXPECT_LE(of_one, all.counters().bytes_sent);
      std::this_thread::yield();
      all.release(2, seen % 2);
      all.advance(2, std::chrono::nanoseconds{1});
    }
    all.hold(0, 2);
    all.kill(2);
    for (std::thread& each : threads) { each.join(); }
    EXPECT_GT(all.counters(2).messages_sent, 20u);
  }
}

}  // namespace
}  // namespace flotilla::test
