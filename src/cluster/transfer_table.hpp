// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Brings transfers and the records of other ranks together.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/message.hpp"
#include "cluster/message_port.hpp"
#include "cluster/rank_state.hpp"
#include "cluster/stream.hpp"
#include "cluster/transfer.hpp"
#include "dispatch/runtime/host_submitter.hpp"

namespace flotilla::cluster_ranks {

/// The transfers that have begun and not ended. Threads: one at a time.
class transfer_table {
 public:
  transfer_table(message_port& port, rank_state& state,
                 dispatch::host_submitter const& tasks) noexcept
      : port_(port), state_(state), tasks_(tasks) {}

  /// The memory of a transfer can be used: sends it, or gives it what has arrived.
  void begin(std::unique_ptr<transfer> which);
  /// Reads a record of the kinds small, large, lost or taken.
  void read(int from, record const& what, std::span<std::byte const> payload);
  /// All messages of a large transfer have left or arrived.
  void finish_copy(transfer& which);
  /// No further record comes from a rank, because it has ended.
  void check_ended(int rank);
  /// This rank has ended, and expects no further transfer.
  void check_unclaimed();
  /// Makes all transfers fail, after state_ has.
  void fail_all();
  /// Returns the transfers that have ended, and whose tasks must end.
  [[nodiscard]] std::vector<std::unique_ptr<transfer>> take_ended() noexcept {
    return std::exchange(ended_, {});
  }
  /// Returns a transfer to this rank that nothing has arrived for; null if there is none.
  [[nodiscard]] transfer const* first_waiting() const noexcept;

 private:
  /// Sends a transfer whose number is inside the window.
  void send(std::unique_ptr<transfer> which);
  void match(std::unique_ptr<transfer> which, record const& what,
             std::span<std::byte const> payload);
  /// Gives a transfer its contents. If a reduction throws, the transfer fails.
  static void deliver(transfer& to, std::byte const* from);
  void note_taken(transfer::identity const& of);
  /// The programs of the ranks differ. Tells all of them.
  void fail(transfer const& which, record const& what);
  void fail_late(transfer const& which);
  void end(std::unique_ptr<transfer> which) { ended_.push_back(std::move(which)); }
  [[nodiscard]] stream& stream_of(std::uint32_t flow, int peer) {
    return streams_[std::uint64_t{flow} << 32 | static_cast<std::uint32_t>(peer)];
  }

  message_port& port_;
  rank_state& state_;
  dispatch::host_submitter const& tasks_;
  std::unordered_map<std::uint64_t, stream> streams_;
  std::vector<std::unique_ptr<transfer>> ended_;
};

}  // namespace flotilla::cluster_ranks
