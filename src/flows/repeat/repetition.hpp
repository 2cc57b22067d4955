// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replays of an iteration of a flow.

#include <cstddef>
#include <optional>
#include <span>

#include <flotilla/task/task_id.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "dispatch/submission/recorder.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/data/writer_table.hpp"
#include "flows/log/iteration_log.hpp"
#include "flows/order/task_planner.hpp"
#include "flows/repeat/replay_order.hpp"

namespace flotilla::flows {

/// A recording of the steps of an iteration. Each replay is one task of the flow.
class repetition {
 public:
  /// Makes the recording. Call it without the flow's mutex, because it waits for devices.
  /// @param steps  They must exist as long as this object.
  /// @param uses   The hits and misses of an iteration. They must exist as long as this object.
  /// @throws the exceptions of recording::add and recording::finish
  repetition(dispatch::runtime_state& runtime, task_planner& planner,
             std::span<iteration_step const> steps, std::span<use_counts const> uses);

  // The caller holds the flow's mutex in these calls. The data of the iteration must be as after
  // the iteration that was logged, or after the last replay.

  /// Submits replays until `count` of them are submitted or a window is full.
  /// @param done  Is increased by the number of replays.
  /// @return what prevents the first replay. If a window is full, see `wait_for_room`.
  [[nodiscard]] obstacle submit(std::size_t count, std::size_t& done);
  /// Makes the next replay wait for all tasks that use its data, not only for the last replay.
  void restart() noexcept;
  /// Ends the submission of replays.
  void end() noexcept;

  /// Waits until the windows have room for a replay. Call it without the flow's mutex.
  void wait_for_room() const { recorder_.wait_for_room(steps_.front().priority); }

  /// Returns the last replay that was submitted.
  [[nodiscard]] std::optional<task_id> last() const noexcept {
    return last_ == nullptr ? std::nullopt : std::optional{last_->task};
  }

 private:
  /// Submits one replay. @return false if a window is full.
  [[nodiscard]] bool submit_one();

  task_planner& planner_;
  writer_table& writers_;
  std::span<iteration_step const> const steps_;
  std::span<use_counts const> const uses_;
  replay_order order_;
  dispatch::recorder recorder_;
  ticket join_;             // the task before the first replay
  writer* last_ = nullptr;  // of the last replay
};

}  // namespace flotilla::flows
