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

#include "cluster/message_port.hpp"
#include "cluster/rank_state.hpp"
#include "cluster/transfer_table.hpp"
#include "dispatch/ordering/pollers.hpp"
#include "dispatch/runtime/host_submitter.hpp"

namespace flotilla::cluster_ranks {

/// One thread at a time uses the transport, whichever polls. It takes the transfers that have begun
/// since the last time, sends what is ready, and looks what has arrived. Threads: any.
class network final : public dispatch::pollable {
 public:
  /// @throws rank_failed  The transport refused the first receives.
  network(transport const& via, dispatch::host_submitter const& tasks);
  network(network const&) = delete;
  network& operator=(network const&) = delete;

  [[nodiscard]] int rank() const noexcept { return port_.via().rank; }
  [[nodiscard]] int ranks() const noexcept { return port_.via().ranks; }
  [[nodiscard]] rank_state& state() noexcept { return state_; }

  /// A transfer has begun: its memory can be used. Does not allocate or block.
  void add(std::unique_ptr<transfer> begun) noexcept;
  bool poll() noexcept override;
  /// Keeps other threads from polling.
  [[nodiscard]] std::unique_lock<std::mutex> exclude() { return std::unique_lock{lease_}; }

  // Steps by which ranks wait for each other:
  /// Tells a rank that this one has reached a round of its wait with this number.
  void tell_idle(int to, std::uint64_t number, std::uint32_t round);
  /// Returns how many records of this kind this rank has got for a round.
  [[nodiscard]] std::uint64_t idle_records(std::uint32_t round) const noexcept {
    return idle_[round % std::size(idle_)].load(std::memory_order_acquire);
  }
  /// Returns whether every record has left this rank.
  [[nodiscard]] bool is_quiet() {
    std::lock_guard const lock{lease_};
    return port_.is_quiet();
  }
  /// Sends `done`, or `failed` with a text, to all ranks. Only the first call counts.
  void tell_end(record_kind kind, std::string const& why = {}) noexcept;
  /// Returns whether all ranks have told their end, and nothing is on the way to or from this rank.
  [[nodiscard]] bool is_over();
  /// Returns a rank that has not told its end; -1 if there is none.
  [[nodiscard]] int straggler();
  /// Frees the transport. Call no other function afterwards.
  void close() noexcept;

  [[nodiscard]] cluster_counters counters() const noexcept;

 private:
  // The thread that polls calls these.
  bool take_begun();
  void read(int from, std::span<std::byte const> message);
  void note_end(int from, record const& what, std::span<std::byte const> payload);
  void add_end(record_kind kind, std::string const& why);
  void fail_all();
  /// Says once for which transfer this rank waits, if no message has come for a long time.
  void report_silence();

  dispatch::host_submitter const& tasks_;
  std::thread::id const main_ = std::this_thread::get_id();
  rank_state state_;
  std::atomic<transfer*> begun_{nullptr};  // a list; the newest first
  std::atomic<std::size_t> open_{0};       // transfers that have begun and not ended
  std::atomic<std::uint64_t> idle_[32]{};

  std::mutex lease_;
  // The lease guards these members:
  message_port port_;
  transfer_table transfers_;
  bool has_failed_all_ = false;
  bool has_told_end_ = false;
  std::chrono::steady_clock::time_point last_message_ = std::chrono::steady_clock::now();
  bool has_reported_ = false;  // since the last message
  unsigned idle_polls_ = 0;
};

}  // namespace flotilla::cluster_ranks
