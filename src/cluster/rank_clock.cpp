// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/rank_clock.hpp"

#include <unistd.h>

#include <chrono>

namespace flotilla::cluster_ranks {

namespace {

/// Returns the number of this run of the program. Only that of rank 0 counts.
[[nodiscard]] std::uint64_t number_of_run() noexcept {
  static std::uint64_t const number = [] {
    auto const now = std::chrono::system_clock::now().time_since_epoch().count();
    // Two programs may begin at the same time on one machine.
    return (static_cast<std::uint64_t>(now) << 22 ^ static_cast<std::uint64_t>(::getpid())) | 1;
  }();
  return number;
}

}  // namespace

bool rank_clock::look() noexcept {
  std::int64_t const now = dispatch::tracer::now();
  std::uint32_t const session = trace_.current().number.load(std::memory_order_relaxed);
  if (session_ != session) {
    session_ = session;
    next_ = now;
    bool const is_reference = rank_ == 0;
    note(now, now, is_reference ? now : 0, is_reference ? number_of_run() : 0);
  }
  if (rank_ == 0) { return false; }
  if (now >= next_) {
    next_ = now + pause_ns;
    left_ = questions_together;
  }
  return left_ != 0 && !is_waiting_;
}

record rank_clock::ask() noexcept {
  is_waiting_ = true;
  --left_;
  return {.kind = record_kind::ask_time,
          .number = static_cast<std::uint64_t>(dispatch::tracer::now())};
}

record rank_clock::answer(record const& question) noexcept {
  return {.kind = record_kind::time,
          .number = question.number,
          .total = static_cast<std::uint64_t>(dispatch::tracer::now()),
          .large = number_of_run()};
}

void rank_clock::note_answer(record const& what) noexcept {
  is_waiting_ = false;
  if (!trace_.active()) { return; }
  note(static_cast<std::int64_t>(what.number), dispatch::tracer::now(),
       static_cast<std::int64_t>(what.total), what.large);
}

void rank_clock::note(std::int64_t asked, std::int64_t answered, std::int64_t there,
                      std::uint64_t run) noexcept {
  trace_.push(dispatch::record_kind::clock,
              dispatch::clock_record{.asked = asked,
                                     .answered = answered,
                                     .there = there,
                                     .run = run,
                                     .rank = static_cast<std::uint32_t>(rank_),
                                     .ranks = static_cast<std::uint32_t>(ranks_)});
}

}  // namespace flotilla::cluster_ranks
