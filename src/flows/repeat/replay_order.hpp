// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The place of an iteration's replays in the order of a flow.

#include <cstddef>
#include <optional>
#include <span>

#include <flotilla/task/task_id.hpp>
#include <flotilla/task/ticket.hpp>

#include "flows/copies/data_mover.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/data/writer_table.hpp"
#include "flows/log/iteration_log.hpp"
#include "flows/order/task_order.hpp"

namespace flotilla::flows {

/// Treats all steps of an iteration as one task. Threads: the caller holds the flow's mutex.
class replay_order {
 public:
  replay_order(data_mover& mover, task_order& order, std::span<iteration_step const> steps) noexcept
      : mover_(mover), order_(order), steps_(steps) {}

  /// Submits a host task after all tasks that must end before the iteration begins. It fails if one
  /// of them failed whose results the iteration needs.
  [[nodiscard]] obstacle submit_join(ticket& made);
  /// Allocates everything that `commit` needs.
  void reserve();
  /// Records that replays were submitted. Does not throw.
  /// @param last   The last one.
  /// @param count  Their number.
  void commit(writer& last, std::size_t count) noexcept;

 private:
  class predecessors;

  data_mover& mover_;
  task_order& order_;
  std::span<iteration_step const> const steps_;
};

}  // namespace flotilla::flows
