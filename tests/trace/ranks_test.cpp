// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What ranks find out about each other's clocks while they write traces.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/data/flow.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/testing/loop_transport.hpp>
#include <flotilla/trace.hpp>

#include "cluster/message.hpp"
#include "merge_fixture.hpp"

namespace flotilla::test {
namespace {

/// Makes rank 0 say that its clock is a second ahead of what it is.
transport with_wrong_time(transport via) {
  static auto const isend = via.isend;
  via.isend = [](void* self, void const* data, std::size_t bytes, int to, int tag, int* request) {
    using namespace cluster_ranks;
    if (tag == record_tag) {
      auto* const message = static_cast<std::byte*>(const_cast<void*>(data));
      message_reader in{{message, bytes}};
      std::size_t at = sizeof(message_header);
      while (auto const item = in.next()) {
        record changed = item->what;
        if (changed.kind == cluster_ranks::record_kind::time) { changed.total += one_second; }
        std::memcpy(message + at, &changed, sizeof changed);
        at += sizeof changed + padded(changed.bytes);
      }
    }
    return isend(self, data, bytes, to, tag, request);
  };
  return via;
}

/// Two ranks with traces. Rank 0 writes data, and rank 1 reads them.
class RankTraces : public ::testing::Test {
 protected:
  // Of the first messages to rank 1, at least so many are answers of rank 0.
  static constexpr std::uint64_t messages = 16, answers = 8;

  ~RankTraces() override {
    for (auto const& each : files_) { std::filesystem::remove(each); }
  }

  void run(testing::loop ranks) {
    std::thread other{[&] { run(ranks.rank(1)); }};
    run(with_wrong_time(ranks.rank(0)));
    other.join();
  }
  [[nodiscard]] tool::trace_part part(std::size_t rank) const {
    std::string bytes = tool::bytes_of(files_[rank]);
    tool::trace_origin origin = tool::decode_trace(bytes, files_[rank]).origin;
    return {files_[rank], std::move(bytes), std::move(origin)};
  }

  // When the tasks of both ranks ran.
  std::chrono::steady_clock::time_point ran_[2];

 private:
  static std::string file(int rank) {
    return (std::filesystem::temp_directory_path() / ("flotilla_" + std::to_string(::getpid())))
               .string() +
           "_rank" + std::to_string(rank) + ".pftrace";
  }

  void run(transport via) {
    int const rank = via.rank;
    runtime rt{{.devices = "cpu:1", .workers = 1}};
    cluster all{rt, via};
    trace writing{rt, {.file = files_[static_cast<std::size_t>(rank)]}};
    while (rank == 1 && all.counters().messages_received < messages) { rt.pump(); }
    all.run([&] {
      flow over{all};
      data<std::uint32_t> x{over, {4}, "x"};
      over.post(uses(write(x)), host_task([&](view<std::uint32_t> out) {
                  out(0) = 1;
                  ran_[0] = std::chrono::steady_clock::now();
                }),
                {.label = "made", .rank = 0});
      over.post(uses(read(x)), host_task([&](view<std::uint32_t const>) {
                  ran_[1] = std::chrono::steady_clock::now();
                }),
                {.label = "used", .rank = 1});
      all.wait_idle();
    });
    writing.end();
  }

  std::vector<std::string> const files_{file(0), file(1)};
};

// requirement: the times of rank 1 move by what rank 0 says about its clock
TEST_F(RankTraces, TimesAreThoseOfRankZero) {
  run(testing::loop{2});
  tool::trace_part const zero = part(0), one = part(1);
  EXPECT_EQ(zero.origin.rank, 0);
  EXPECT_EQ(one.origin.rank, 1);
  EXPECT_NE(zero.origin.run, 0u);
  EXPECT_EQ(zero.origin.run, one.origin.run);
  EXPECT_EQ(zero.origin.answers.size(), 1u);
  EXPECT_GE(one.origin.answers.size(), answers);

  tool::trace_model const trace = merged({zero, one});
  std::int64_t const error = tool::trace_clock{one.origin.answers}.max_error() + 1;
  std::int64_t const apart = (ran_[1] - ran_[0]).count() + one_second;
  tool::trace_slice const &made = named(trace, "made"), &used = named(trace, "used");
  EXPECT_LE(used.begin - made.end - error, apart);
  EXPECT_GE(used.end - made.begin + error, apart);
}

// requirement: the arrow of a transfer leads from one rank to the other
TEST_F(RankTraces, TransferHasAnArrow) {
  run(testing::loop{2, {.seed = 5}});
  tool::trace_model const trace = merged({part(0), part(1)});
  std::vector<std::pair<std::string, std::string>> found;
  for (tool::trace_arrow const& each : trace.arrows) {
    std::string const from = trace.part_of(trace.slices[each.from].track);
    std::string const to = trace.part_of(trace.slices[each.to].track);
    if (from != to) { found.emplace_back(from, to); }
  }
  EXPECT_THAT(found, ::testing::ElementsAre(std::pair{"rank 0", "rank 1"}));
}

/// Sends and receives the messages of a rank by hand.
class rank_by_hand {
 public:
  explicit rank_by_hand(transport const& via) : via_(via) { receive(); }
  ~rank_by_hand() { via_.close(via_.self); }
  rank_by_hand(rank_by_hand const&) = delete;
  rank_by_hand& operator=(rank_by_hand const&) = delete;

  void send(cluster_ranks::record const& what) {
    cluster_ranks::message_writer to;
    static_cast<void>(to.add(what));
    int request = 0;
    std::vector<std::byte> const& sent = sent_.emplace_back(to.take({}));
    via_.isend(via_.self, sent.data(), sent.size(), 0, cluster_ranks::record_tag, &request);
  }
  /// Returns whether a record of this kind has arrived now.
  bool has_got(cluster_ranks::record_kind kind) {
    transport_event event;
    int count = 0;
    via_.testsome(via_.self, &event, 1, &count);
    if (count == 0 || event.request != open_) { return false; }
    bool found = false;
    cluster_ranks::message_reader in{std::span{memory_}.first(event.bytes)};
    while (auto const item = in.next()) { found = found || item->what.kind == kind; }
    receive();
    return found;
  }

 private:
  void receive() {
    via_.irecv(via_.self, memory_.data(), memory_.size(), 0, cluster_ranks::record_tag, &open_);
  }

  transport const via_;
  int open_ = 0;
  std::vector<std::byte> memory_ = std::vector<std::byte>(cluster_ranks::max_message_bytes);
  std::deque<std::vector<std::byte>> sent_;
};

// requirement: what a rank sends after `done` may arrive after the end of the receiver, so it sends
// no answers
TEST(RankQuestions, RankThatHasEndedDoesNotAnswer) {
  using cluster_ranks::record_kind;
  testing::loop ranks{2};
  rank_by_hand one{ranks.rank(1)};
  std::atomic<bool> has_answered{false};
  std::thread zero{[&, via = ranks.rank(0)] {
    runtime rt{{.devices = "cpu:1"}};
    cluster const all{rt, via};
    while (!has_answered) { std::this_thread::yield(); }
  }};
  one.send({.kind = record_kind::ask_time});
  while (!one.has_got(record_kind::time)) {}  // control
  has_answered = true;
  while (!one.has_got(record_kind::done)) {}
  one.send({.kind = record_kind::ask_time});
  one.send({.kind = record_kind::done, .number = 3});
  zero.join();
  for (int i = 0; i < 10; ++i) { EXPECT_FALSE(one.has_got(record_kind::time)); }
}

}  // namespace
}  // namespace flotilla::test
