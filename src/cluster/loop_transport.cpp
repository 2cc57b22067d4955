// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/testing/loop_transport.hpp>

#include <memory>
#include <string>

#include <flotilla/error/error.hpp>

#include "cluster/loop_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace testing {

namespace {

[[noreturn]] void refuse_loop(char const* what, std::string const& value,
                              std::string const& allowed) {
  throw invalid_argument(std::string{"testing::loop: "} + what + " is " + value + ", but must be " +
                         allowed);
}

cluster_ranks::loop_state::seat& loop_seat(cluster_ranks::loop_state const& all, int rank,
                                           char const* what = "rank") {
  if (rank < 0 || rank >= all.ranks) {
    refuse_loop(what, std::to_string(rank), "from 0 to " + std::to_string(all.ranks - 1));
  }
  return all.at(rank);
}

loop_counters loop_counters_of(cluster_ranks::loop_state::seat const& rank) {
  return {rank.messages_sent, rank.bytes_sent, rank.mailbox.lost()};
}

}  // namespace

loop::loop(int ranks, loop_options const& options) {
  if (ranks < 1) { refuse_loop("ranks", std::to_string(ranks), "at least 1"); }
  if (options.max_delay < 0) {
    refuse_loop("max_delay", std::to_string(options.max_delay), "0 or more");
  }
  if (options.latency < std::chrono::nanoseconds::zero()) {
    refuse_loop("latency", std::to_string(options.latency.count()) + " ns", "0 or more");
  }
  if (!(options.bytes_per_second >= 0)) {  // refuses NaN too
    refuse_loop("bytes_per_second", "negative or not a number", "0 or more");
  }
  if (options.local_ranks < 0) {
    refuse_loop("local_ranks", std::to_string(options.local_ranks), "0 or more");
  }
  state_ = std::make_shared<cluster_ranks::loop_state>(ranks, options);
}

transport loop::rank(int rank) {
  if (loop_seat(*state_, rank).is_taken.exchange(true)) {
    throw invalid_argument("testing::loop: the transport of rank " + std::to_string(rank) +
                           " was returned before");
  }
  return cluster_ranks::make_loop_transport(state_, rank);
}

void loop::kill(int rank) {
  if (!loop_seat(*state_, rank).mailbox.mark_killed()) { return; }
  state_->close(rank, cluster_ranks::loop_process_failed);
  for (int other = 0; other < state_->ranks; ++other) {
    if (other != rank) { state_->at(other).mailbox.bury(rank); }
  }
}

void loop::refuse_next(int rank, int calls) {
  auto& seat = loop_seat(*state_, rank);
  if (calls < 0) { refuse_loop("calls", std::to_string(calls), "0 or more"); }
  seat.refusals = calls;
}

void loop::hold(int from, int to) {
  loop_seat(*state_, from, "from");
  loop_seat(*state_, to, "to").mailbox.hold(from);
}

void loop::release(int from, int to) {
  loop_seat(*state_, from, "from");
  loop_seat(*state_, to, "to").mailbox.release(from);
}

std::chrono::nanoseconds loop::now(int rank) const {
  return std::chrono::nanoseconds{loop_seat(*state_, rank).now};
}

void loop::advance(int rank, std::chrono::nanoseconds time) {
  auto& seat = loop_seat(*state_, rank);
  if (time < std::chrono::nanoseconds::zero()) {
    refuse_loop("time", std::to_string(time.count()) + " ns", "0 or more");
  }
  seat.now += time.count();
}

loop_counters loop::counters() const {
  loop_counters sums;
  for (int rank = 0; rank < state_->ranks; ++rank) {
    loop_counters const each = loop_counters_of(state_->at(rank));
    sums.messages_sent += each.messages_sent;
    sums.bytes_sent += each.bytes_sent;
    sums.messages_lost += each.messages_lost;
  }
  return sums;
}

loop_counters loop::counters(int rank) const { return loop_counters_of(loop_seat(*state_, rank)); }

std::uint64_t loop::max_bytes_in_flight() const { return state_->traffic.max(); }

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla
