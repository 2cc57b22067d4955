// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must move between ranks before and after a task.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/task_options.hpp>

#include "cluster/cluster_state.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/order/task_planner.hpp"

namespace flotilla::flows {

/// All ranks submit the same tasks, so each of them knows which data must be copied from where to
/// where. This class submits the copies in which its own rank takes part: a transfer is a task of
/// the flow on the host, which reads the data on the rank that sends, and writes them on the rank
/// that receives. So copies to and from devices, the order, evictions, and failures are those of
/// other tasks.
///
/// Threads: the caller holds the flow's mutex in all calls, except of `rank_of`. No call waits.
class rank_exchange {
 public:
  rank_exchange(std::shared_ptr<cluster_ranks::cluster_state> cluster, task_planner& planner)
      : cluster_(std::move(cluster)), planner_(planner), flow_(cluster_->add_flow()) {}

  [[nodiscard]] cluster_ranks::cluster_state& cluster() const noexcept { return *cluster_; }
  [[nodiscard]] int rank() const noexcept { return cluster_->rank(); }
  /// Makes the data known to all ranks. @param owner  The rank that owns them.
  void add(detail::datum& made, int owner) {
    made.ranks = std::make_unique<rank_copies>(owner, data_++);
  }

  /// Returns the rank on which a task runs. See flotilla::cluster.
  /// @throws invalid_argument  task_options::rank is no rank of the cluster.
  [[nodiscard]] int rank_of(std::span<detail::datum_use const> uses,
                            task_options const& options) const;
  /// Submits the copies that a task needs which runs on `to`. Call it again after an obstacle.
  [[nodiscard]] obstacle bring(std::span<detail::datum_use const> uses, int to,
                               task_options const& options);
  /// Notes what a task on `by` has changed, and submits the copies to the owners of these data.
  /// @param done  How many uses are finished. Zero in the first call; after an obstacle, call it
  ///              again with the same variable.
  [[nodiscard]] obstacle take_home(std::span<detail::datum_use const> uses, int by,
                                   task_options const& options, std::size_t& done);
  /// Makes another rank the owner, which gets the contents.
  [[nodiscard]] obstacle move(detail::datum& which, int to);
  /// Brings the tiles of data that have ended to the owner of the whole data, and joins them.
  [[nodiscard]] obstacle collect(detail::datum& whole, task_options const& options);
  /// Ends the copies on other ranks than the owner. Tasks may still use them.
  void drop_copies(detail::datum& which) noexcept;

 private:
  /// Submits this rank's part of a copy between two ranks, if it takes part.
  /// @param how  Combines the data with those of the receiver. Null: replaces them.
  [[nodiscard]] obstacle copy(detail::datum& which, int from, int to, detail::reduction const* how,
                              task_options const& options);
  /// Submits the task of a copy.
  /// @param use  What is sent or received: `which`, or a partial result of it.
  [[nodiscard]] obstacle submit(detail::datum& which, detail::datum_use const& use, bool sends,
                                int peer, task_options const& options);
  /// Sends what a task on this rank has contributed to data that another rank owns.
  [[nodiscard]] obstacle contribute(detail::datum& which, task_options const& options);
  /// The contents on this rank are no longer the newest.
  void invalidate(detail::datum& which) noexcept;
  [[nodiscard]] std::uint64_t& number(bool sends, int peer) {
    return numbers_[static_cast<std::uint64_t>(peer) * 2 + (sends ? 1 : 0)];
  }

  std::shared_ptr<cluster_ranks::cluster_state> const cluster_;
  task_planner& planner_;
  std::uint32_t const flow_;
  std::uint32_t data_ = 0;                                    // how many were made
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // of the next transfers
};

}  // namespace flotilla::flows
