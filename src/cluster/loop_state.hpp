// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a testing::loop share.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/testing/loop_transport.hpp>

#include "cluster/loop_mailbox.hpp"

namespace flotilla::cluster_ranks {

/// The only locks are the mutexes of the mailboxes. No function holds two of them, so they need no
/// order.
///
/// Threads  any.
class loop_state {
 public:
  struct seat {
    loop_mailbox mailbox{};
    std::atomic<std::int64_t> now{0};  // virtual time, in nanoseconds
    std::atomic<std::uint64_t> messages_sent{0}, bytes_sent{0};
    std::atomic<int> refusals{0};  // how many calls of isend and irecv will fail
    std::atomic<bool> is_taken{false};
  };

  loop_state(int rank_count, testing::loop_options const& wanted)
      : options{wanted}, ranks{rank_count}, seats_{new seat[static_cast<std::size_t>(ranks)]} {
    for (int rank = 0; rank < ranks; ++rank) { at(rank).mailbox.set_up(options, rank, traffic); }
  }

  [[nodiscard]] seat& at(int rank) const noexcept { return seats_[static_cast<std::size_t>(rank)]; }
  /// Empties the mailbox of a rank for ever.
  /// @param status  Of sends that wait for this rank.
  void close(int rank, int status) noexcept {
    at(rank).mailbox.close(
        [&](int sender, int request) { at(sender).mailbox.end_send(request, status); });
  }
  /// Returns when a message arrives that is sent now.
  [[nodiscard]] std::int64_t arrival(int from, std::size_t bytes) const noexcept {
    std::int64_t const begun = at(from).now + options.latency.count();
    if (options.bytes_per_second == 0) { return begun; }
    constexpr double max_time = 1e18;  // 30 years: more would overflow
    double const time = static_cast<double>(bytes) / options.bytes_per_second * 1e9;
    return begun + static_cast<std::int64_t>(std::min(time, max_time));
  }
  /// Moves the time of a rank on to `time`, if it is earlier.
  void wait_until(int rank, std::int64_t time) noexcept {
    auto& now = at(rank).now;
    for (std::int64_t seen = now; seen < time && !now.compare_exchange_weak(seen, time);) {}
  }

  testing::loop_options const options;
  int const ranks;
  loop_traffic traffic{};

 private:
  std::unique_ptr<seat[]> seats_;
};

/// Returns the functions of a rank, which exist until `close`.
[[nodiscard]] transport make_loop_transport(std::shared_ptr<loop_state> all, int rank);

}  // namespace flotilla::cluster_ranks
