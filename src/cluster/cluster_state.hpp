// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of a cluster.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/runtime.hpp>

#include "cluster/host_box.hpp"
#include "cluster/network.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::cluster_ranks {

/// Connects a runtime with the ranks of a program, and waits for them at the end. Flows submit
/// transfers through it. Threads: any, except the constructor and `end`.
class cluster_state {
 public:
  /// @throws invalid_argument, rank_failed, and the exceptions of pollers::add
  cluster_state(runtime& owner, transport const& via);

  [[nodiscard]] int rank() const noexcept { return network_.rank(); }
  [[nodiscard]] int ranks() const noexcept { return network_.ranks(); }
  [[nodiscard]] runtime& owner() const noexcept { return owner_; }
  [[nodiscard]] network& messages() noexcept { return network_; }
  /// Returns the number of a new flow. All ranks make their flows in the same order.
  [[nodiscard]] std::uint32_t add_flow() noexcept { return flows_.fetch_add(1); }

  /// Submits the task that copies data to or from another rank. @return false if a window is full.
  [[nodiscard]] bool submit(bool sends, transfer::identity const& who, host_box const& memory,
                            detail::reduction const* how, std::string_view data,
                            std::string_view task, dispatch::flow_task_options const& options,
                            ticket* made);

  /// @throws rank_failed  The cluster cannot go on.
  void check() { network_.state().check(); }
  /// @throws rank_failed, and invalid_argument if the cluster takes no more tasks
  void check_open();
  /// See cluster::fail.
  void fail(std::string_view why) noexcept;
  /// See cluster::wait_idle.
  void wait_idle();
  /// See cluster::finish.
  void finish();
  /// Waits until all ranks have ended their clusters. After the failure of a rank, waits at most
  /// 10 s for the other ranks.
  void wait_for_ranks();
  /// Ends the cluster: waits for all ranks, and frees the transport. Call it once.
  void end() noexcept;

 private:
  /// @throws would_deadlock  This thread is inside cluster::exclusive.
  void check_not_excluding(char const* call);
  void drive_runtime() noexcept;
  /// Polls until `done()` returns true, or the deadline has passed.
  /// @param what  What the report says if this takes long.
  /// @throws error  interruptible_waits have ended the wait.
  template <class Done>
  bool wait_until(Done const& done, std::chrono::steady_clock::duration limit, char const* what);

  runtime& owner_;
  dispatch::runtime_state& runtime_;
  dispatch::pollers& polled_;
  network network_;
  std::atomic<std::uint32_t> flows_{0};
  std::mutex idle_mutex_;
  std::uint64_t idle_waits_ = 0;   // guarded by idle_mutex_
  bool is_waiting_idle_ = false;   // whether the last of them has not ended; guarded by idle_mutex_
  std::uint32_t told_rounds_ = 0;  // of this one; guarded by idle_mutex_
  std::atomic<bool> has_finished_{false};
  std::atomic<bool> has_told_end_{false};
  bool has_waited_for_ranks_ = false;  // only the thread that ends the cluster uses it
};

}  // namespace flotilla::cluster_ranks
