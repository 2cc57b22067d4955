// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a flow over several ranks does besides its own tasks.

#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/task/task_options.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/flow/use_check.hpp"
#include "flows/order/task_planner.hpp"
#include "flows/ranks/rank_exchange.hpp"
#include "flows/waiting/obstacle_resolver.hpp"

namespace flotilla::flows {

/// Threads: any, where a function does not say that the caller holds the flow's mutex.
class rank_flow {
 public:
  struct parts {
    runtime& owner;
    dispatch::runtime_state& state;
    std::mutex& mutex;  // of the flow
    task_planner& planner;
    use_check const& checks;
  };
  rank_flow(parts const& with, std::shared_ptr<cluster_ranks::cluster_state> cluster)
      : with_(with), exchange_(std::move(cluster), with.planner) {}

  [[nodiscard]] int rank() const noexcept { return exchange_.rank(); }
  /// Returns whether this rank owns data that are made.
  /// @param of  Null: the flow has no cluster.
  [[nodiscard]] static bool owns_new(rank_flow const* of) noexcept {
    return of == nullptr || of->rank() == 0;
  }
  /// Makes data known to all ranks. The owner is rank 0.
  void add(detail::datum& made);
  /// Makes tiles known to all ranks. They have the owner of the whole data. The caller holds the
  /// mutex.
  void add_tiles(detail::datum& whole, tile_list const& tiles);

  /// Returns whether another rank runs a task. Then this rank has done what it must do for it.
  /// Otherwise this rank has submitted the copies from other ranks that the task needs.
  /// @param of  Null: the flow has no cluster.
  /// @throws rank_failed, invalid_argument
  [[nodiscard]] static bool passes(rank_flow* of, std::span<detail::datum_use const> uses,
                                   task_options const& options) {
    if (of != nullptr) [[unlikely]] { return of->passes(uses, options); }
    dispatch::validation::check_rank(options);
    return false;
  }
  /// Calls step(). If it throws, the cluster fails, because other ranks go on as if the call had
  /// succeeded.
  /// @param of  Null: the flow has no cluster.
  template <class Step>
  static void or_fail(rank_flow* of, Step const& step);
  /// Sends what a task of this rank has changed to the owners of the data.
  void take_home(std::span<detail::datum_use const> uses, task_options const& options);

  /// Makes another rank the owner of data. Collective.
  /// @param of  Null: the flow has no cluster.
  static void set_owner(rank_flow* of, detail::datum& which, int rank);
  /// Brings the tiles of data that have ended to the owner of the data, and ends the copies on
  /// other ranks. Collective.
  void collect(detail::datum& whole);
  /// Returns whether the copy of this rank may be older than that of the owner.
  [[nodiscard]] bool is_foreign(detail::datum const& which) const noexcept {
    return which.ranks != nullptr && which.ranks->owner() != rank();
  }
  /// Checks that this rank may use data outside of tasks. The caller holds the mutex.
  /// @throws invalid_argument, rank_failed
  void check_host(detail::datum const& which, bool for_update) const;

 private:
  [[nodiscard]] bool passes(std::span<detail::datum_use const> uses, task_options const& options);
  /// Submits the copies of a task that runs on `rank`, in which this rank takes part: those before
  /// it, and if it is the task of another rank, those after it.
  void pass(std::span<detail::datum_use const> uses, int rank, task_options const& options);
  /// Calls step() with the mutex locked, again and again, until it returns no obstacle.
  template <class Step>
  void until_done(std::string_view label, Step const& step);
  void move(detail::datum& which, int rank);
  /// @throws invalid_argument  Tiles of the data exist.
  void check_undivided(detail::datum const& which) const;

  parts const with_;
  rank_exchange exchange_;
};

template <class Step>
void rank_flow::or_fail(rank_flow* of, Step const& step) {
  try {
    step();
  } catch (rank_failed const&) { throw; } catch (std::exception const& why) {
    if (of != nullptr) { of->exchange_.cluster().fail(why.what()); }
    throw;
  } catch (...) {
    if (of != nullptr) { of->exchange_.cluster().fail("an exception that is no std::exception"); }
    throw;
  }
}

}  // namespace flotilla::flows
