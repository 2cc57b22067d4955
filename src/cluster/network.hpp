// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which thread sends and receives.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/transport.hpp>

#include "base/fork_guard.hpp"
#include "cluster/message_port.hpp"
#include "cluster/rank_clock.hpp"
#include "cluster/rank_state.hpp"
#include "cluster/transfer_table.hpp"
#include "cluster/transport_lease.hpp"
#include "dispatch/ordering/pollers.hpp"
#include "dispatch/runtime/host_submitter.hpp"

namespace flotilla::cluster_ranks {

/// One thread at a time uses the transport, whichever polls. It takes the transfers that have begun
/// since the last time, sends what is ready, and looks what has arrived. Threads: any.
class network final : public dispatch::pollable {
 public:
  /// @throws rank_failed  The transport refused the first receives.
  network(transport const& via, dispatch::host_submitter const& tasks, dispatch::tracer& trace);
  network(network const&) = delete;
  network& operator=(network const&) = delete;

  [[nodiscard]] int rank() const noexcept { return port_.via().rank; }
  [[nodiscard]] int ranks() const noexcept { return port_.via().ranks; }
  [[nodiscard]] rank_state& state() noexcept { return state_; }

  /// How many transfers were submitted and have not ended. Whoever submits one counts it.
  [[nodiscard]] std::atomic<std::size_t>& open() noexcept { return open_; }
  /// A transfer has begun: its memory can be used. Does not allocate or block.
  void add(std::unique_ptr<transfer> begun) noexcept;
  bool poll() noexcept override;
  [[nodiscard]] transport_lease& lease() noexcept { return lease_; }

  // Steps by which ranks wait for each other:
  /// Tells a rank that this one has reached a round of its wait with this number.
  void tell_idle(int to, std::uint64_t number, std::uint32_t round);
  /// Returns how many records of this kind this rank has got for a round.
  [[nodiscard]] std::uint64_t idle_records(std::uint32_t round) const noexcept {
    return idle_[round % std::size(idle_)].load(std::memory_order_acquire);
  }
  /// Returns whether only those transfers are left whose messages are on the way.
  [[nodiscard]] bool has_only_copies() {
    std::lock_guard const lock{lease_};
    return open_.load(std::memory_order_acquire) == port_.open_copies();
  }
  /// Returns whether a rank has ended.
  [[nodiscard]] bool has_ended(int rank) {
    std::lock_guard const lock{lease_};
    return port_.to(rank).is_over();
  }
  /// Returns whether every record has left this rank.
  [[nodiscard]] bool is_quiet() {
    std::lock_guard const lock{lease_};
    return port_.is_quiet();
  }
  /// Sends `done`, or `failed` with a text, to all ranks. Only the first call counts.
  void tell_end(record_kind kind, std::string const& why = {}) noexcept;
  /// Returns whether all ranks have told their end, and nothing is on the way to or from this rank;
  /// or whether nothing can arrive any more.
  [[nodiscard]] bool is_over();
  /// Returns a rank that has not told its end; -1 if there is none.
  [[nodiscard]] int straggler();
  /// Frees the transport, and makes all transfers fail that are left. Nobody polls any more.
  void close() noexcept;

  [[nodiscard]] cluster_counters counters() const noexcept;

 private:
  // The thread that polls calls these.
  bool take_begun();
  /// Ends the tasks of transfers. The caller does not hold the lease.
  void end(std::span<std::unique_ptr<transfer> const> ended) noexcept;
  void read(int from, std::span<std::byte const> message);
  void note_end(int from, record const& what, std::span<std::byte const> payload);
  void add_end(record_kind kind, std::string const& why);
  void fail_all();
  /// Says once for which transfer this rank waits, if no message has come for a long time. Gives
  /// up what is on the way some time after a failure.
  void look_at_clock();

  dispatch::host_submitter const& tasks_;
  dispatch::tracer& trace_;
  std::uint32_t const process_ = base::fork_generation();
  std::thread::id const main_ = std::this_thread::get_id();
  rank_state state_;
  std::atomic<transfer*> begun_{nullptr};  // a list; the newest first
  std::atomic<std::size_t> open_{0};
  std::atomic<std::uint64_t> idle_[32]{};

  transport_lease lease_;
  // The lease guards these members:
  message_port port_;
  transfer_table transfers_;
  rank_clock clock_;
  bool has_failed_all_ = false;
  bool has_told_done_ = false;
  bool has_told_failure_ = false;
  std::chrono::steady_clock::time_point last_message_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point failed_at_{};
  bool has_cancelled_ = false;
  bool has_reported_ = false;  // since the last message
  unsigned idle_polls_ = 0;
};

}  // namespace flotilla::cluster_ranks
