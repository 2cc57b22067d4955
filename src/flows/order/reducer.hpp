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

/// At one place, the home, tasks that reduce data update the data themselves. It is the first place
/// of such a task, unless the data are valid on other devices only. At every other place, the tasks
/// update a partial result, which is a datum of its own. A host task combines the partial results
/// with the data before a task reads the data. So a reduction on one device needs no host task, and
/// no copies after the first one.
///
/// Threads: the caller holds the flow's mutex in all calls. No call waits.
class reducer {
 public:
  reducer(dispatch::runtime_state& runtime, residency& residents, task_order& order) noexcept
      : runtime_(runtime), residents_(residents), order_(order) {}

  /// Replaces a use that reduces by an update of the data or of a partial result at `where`.
  /// Submits the task that fills these with the identity, if they have no contents. If the data
  /// have partial results of another operation, combines them first. The tiles of the data must
  /// have been joined.
  [[nodiscard]] obstacle replace(detail::datum_use& use, place where, int priority);
  /// Records that a task was submitted that reduces the data.
  static void note_result(detail::datum& which) noexcept {
    which.reduction->has_results = true;
    which.reduction->only_identity = false;
  }
  /// Submits the task that combines the partial results of the data, if there are any.
  [[nodiscard]] obstacle combine(detail::datum& which, int priority);
  /// Ends the partial results, if there are any. Tasks may still use them.
  void discard(detail::datum& which) noexcept;

 private:
  [[nodiscard]] static std::unique_ptr<detail::datum> make_partial(detail::datum const& of);
  /// Makes `where` the home of the reduction if there is none and the data can be updated there.
  static void choose_home(detail::datum& which, place where) noexcept;
  /// Submits a task that fills data with the identity.
  [[nodiscard]] obstacle fill(detail::datum& which, void const* identity, place where,
                              int priority);
  [[nodiscard]] bool submit_fill(detail::datum& which, void const* identity, place where,
                                 dispatch::flow_task_options const& options, ticket& made);

  dispatch::runtime_state& runtime_;
  residency& residents_;
  task_order& order_;
};

}  // namespace flotilla::flows
