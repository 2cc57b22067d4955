// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides what must happen before a task of a flow can run, and records what it does.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/data/flow_counters.hpp>
#include <flotilla/data/flow_options.hpp>
#include <flotilla/detail/data_use.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/copies/data_mover.hpp"
#include "flows/copies/residency.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/log/submitted_task.hpp"
#include "flows/log/task_log.hpp"
#include "flows/order/reducer.hpp"
#include "flows/order/task_order.hpp"
#include "flows/order/tiler.hpp"

namespace flotilla::flows {

/// How often tasks found their data at a place.
struct use_counts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

/// Threads: the caller holds the flow's mutex in all calls. No call waits, and none runs user code.
class task_planner {
 public:
  task_planner(dispatch::runtime_state& runtime, flow_options const& options);

  /// Joins the tiles of the task's data, combines partial results, gives every use of the task
  /// memory at `where`, and submits the copies that make the contents valid there.
  /// @param priority  The priority of the copies.
  /// @param copies    Is increased by the number of copies that were submitted.
  [[nodiscard]] obstacle prepare(std::span<detail::datum_use const> uses, place where, int priority,
                                 std::size_t& copies);
  /// Joins tiles and combines partial results, so that the data have their contents.
  [[nodiscard]] obstacle settle(detail::datum& which, int priority);
  /// Replaces uses that reduce by updates of the data or of the partial results at `where`.
  [[nodiscard]] obstacle replace_reductions(std::span<detail::datum_use> uses, place where,
                                            int priority);
  /// Ends the partial results of data, if there are any. Tasks may still use them.
  void discard_reduction(detail::datum& which) noexcept { reducer_.discard(which); }
  /// Gives the memory that the flow has allocated for data to other data. Tasks may still use it.
  void release_memory(detail::datum& which) noexcept;
  /// Counts hits and misses of a task that was submitted, or of a prefetch.
  /// @param copies  The number of copies of all calls of `prepare` for the task.
  void count(std::span<detail::datum_use const> uses, place where, std::size_t copies) noexcept;
  /// Counts the hits and misses of replays.
  /// @param each  What one iteration has added to `uses`.
  void count_replays(std::span<use_counts const> each, std::size_t replays) noexcept;
  /// Returns the hits and misses so far, by place::index.
  [[nodiscard]] std::span<use_counts const> uses() const noexcept { return uses_; }
  /// Records that the task was submitted after task_order::plan. Does not throw.
  /// @param uses    The uses as the program gave them.
  /// @param actual  The uses after `replace_reductions`.
  /// @param task    Its options are those after `plan`.
  void commit(std::span<detail::datum_use const> uses, std::span<detail::datum_use const> actual,
              submitted_task const& task) noexcept;

  [[nodiscard]] task_order& order() noexcept { return order_; }
  [[nodiscard]] tiler& tiles() noexcept { return tiler_; }
  [[nodiscard]] place_memory& memory(place of) noexcept { return residency_.memory(of); }
  [[nodiscard]] flow_counters counters(place of) const noexcept;
  [[nodiscard]] data_mover& mover() noexcept { return mover_; }
  [[nodiscard]] task_log& log() noexcept { return log_; }

 private:
  task_log log_;
  data_mover mover_;
  task_order order_;
  residency residency_;
  reducer reducer_;
  tiler tiler_;
  std::vector<use_counts> uses_;  // by place::index
};

}  // namespace flotilla::flows
