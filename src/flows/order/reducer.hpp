// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes and combines partial results.

#include <memory>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/copies/residency.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/order/task_order.hpp"

namespace flotilla::flows {

/// A task that reduces data updates a partial result at its place, which is a datum of its own. A
/// host task combines the partial results with the data before a task reads the data.
///
/// Threads: the caller holds the flow's mutex in all calls. No call waits.
class reducer {
 public:
  reducer(dispatch::runtime_state& runtime, residency& residents, task_order& order) noexcept
      : runtime_(runtime), residents_(residents), order_(order) {}

  /// Replaces a use that reduces by an update of the partial result at `where`. Submits the task
  /// that fills the partial result, if there was none. If the data have partial results of another
  /// operation, combines them first. The tiles of the data must have been joined.
  [[nodiscard]] obstacle replace(detail::datum_use& use, place where, int priority);
  /// Records that a task was submitted that reduces the data.
  static void note_result(detail::datum& which) noexcept { which.reduction->has_results = true; }
  /// Submits the task that combines the partial results of the data, if there are any.
  [[nodiscard]] obstacle combine(detail::datum& which, int priority);
  /// Ends the partial results, if there are any. Tasks may still use them.
  void discard(detail::datum& which) noexcept;

 private:
  [[nodiscard]] static std::unique_ptr<detail::datum> make_partial(detail::datum const& of);
  /// Submits a task that fills data with the identity.
  [[nodiscard]] obstacle fill(detail::datum& partial, void const* identity, place where,
                              int priority);
  [[nodiscard]] bool submit_fill(detail::datum& partial, void const* identity, place where,
                                 dispatch::flow_task_options const& options, ticket& made);

  dispatch::runtime_state& runtime_;
  residency& residents_;
  task_order& order_;
};

}  // namespace flotilla::flows
