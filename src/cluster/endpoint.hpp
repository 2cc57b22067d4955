// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of records to one other rank.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include <flotilla/cluster/transport.hpp>

#include "cluster/message.hpp"

namespace flotilla::cluster_ranks {

/// Packs records into messages. While a message is on the way, further records wait for each other,
/// so a flood of small copies needs few messages, and a single one is sent at once.
class endpoint {
 public:
  static constexpr int max_in_flight = 4;

  /// Adds a record. @return where its bytes go.
  [[nodiscard]] std::byte* add(record const& what, std::vector<std::vector<std::byte>>& spare) {
    if (!open_.fits(what.bytes)) { close(spare); }
    return open_.add(what);
  }
  /// Returns whether a message should be sent now.
  [[nodiscard]] bool is_ready() const noexcept {
    if (is_urgent) { return !full_.empty() || !open_.is_empty(); }
    return in_flight < max_in_flight && (!full_.empty() || (in_flight == 0 && !open_.is_empty()));
  }
  /// Returns the next message to send.
  [[nodiscard]] std::vector<std::byte> next(std::vector<std::vector<std::byte>>& spare) {
    if (full_.empty()) { close(spare); }
    std::vector<std::byte> taken = std::move(full_.front());
    full_.pop_front();
    return taken;
  }
  /// Takes back a message that could not be sent.
  void give_back(std::vector<std::byte>&& message) { full_.push_front(std::move(message)); }
  /// Drops what has to be sent, because this rank has failed. What follows is sent at once.
  void give_up() noexcept {
    full_.clear();
    static_cast<void>(open_.take({}));
    is_urgent = true;
  }
  /// Returns how many messages this rank will have sent after a record with so many bytes, which is
  /// added next.
  [[nodiscard]] std::uint64_t messages_with(std::size_t bytes) const noexcept {
    return sent + full_.size() + (open_.fits(bytes) ? 1 : 2);
  }
  /// A message to the other rank has failed, so it will never tell its end.
  void note_death() noexcept {
    has_ended = true;
    announced = 0;
  }
  /// Returns whether the other rank has ended, and all of its messages have arrived.
  [[nodiscard]] bool is_over() const noexcept { return has_ended && received >= announced; }
  /// Returns the number of the next large copy to the other rank.
  [[nodiscard]] std::uint64_t take_large() noexcept { return large_++; }
  /// Returns the tag of a large copy with this number.
  [[nodiscard]] static std::uint32_t tag_of(std::uint64_t large) noexcept {
    return static_cast<std::uint32_t>(large % transport::max_tag + 1);
  }
  /// Notes that a large copy was announced by the other rank.
  /// @return false if another one with the same tag was announced before, and its receive has not
  ///         begun: MPI could not tell them apart.
  [[nodiscard]] bool note_announced(std::uint64_t large) {
    announced_copies_.insert(large);
    return *announced_copies_.begin() + transport::max_tag > large;
  }
  /// Notes that the receive of a large copy has begun.
  void note_received(std::uint64_t large) noexcept { announced_copies_.erase(large); }
  [[nodiscard]] bool is_empty() const noexcept {
    return in_flight == 0 && full_.empty() && open_.is_empty();
  }

  int in_flight = 0;                     // messages of records
  bool is_urgent = false;                // does not wait until messages have left
  bool is_listed = false;                // in the network's list of endpoints to flush
  std::uint64_t sent = 0, received = 0;  // messages of records
  bool has_ended = false;                // whether the other rank has sent `done` or `failed`
  std::uint64_t announced = 0;           // how many messages it has sent, with this one

 private:
  void close(std::vector<std::vector<std::byte>>& spare) {
    std::vector<std::byte> reused;
    if (!spare.empty()) {
      reused = std::move(spare.back());
      spare.pop_back();
    }
    full_.push_back(open_.take(std::move(reused)));
  }

  std::uint64_t large_ = 0;
  std::set<std::uint64_t> announced_copies_;  // from the other rank, without a receive
  message_writer open_;
  std::deque<std::vector<std::byte>> full_;
};

}  // namespace flotilla::cluster_ranks
