// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gets what a task of a flow lacks before it can be submitted.

#include <exception>
#include <mutex>
#include <string>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/data/task_name.hpp"
#include "flows/order/task_planner.hpp"

namespace flotilla::flows {

/// Serves one submit. The caller must not hold the flow's mutex.
class obstacle_resolver {
 public:
  /// @param task  For messages.
  obstacle_resolver(runtime& owner, dispatch::runtime_state& state, std::mutex& mutex,
                    task_planner& planner, task_name const& task) noexcept
      : owner_(owner), runtime_(state), mutex_(mutex), planner_(planner), task_(task) {}

  /// Does what is missing. Afterwards, the caller tries again. It may meet an obstacle again,
  /// because other threads submit too.
  /// @throws driver_error  The memory does not suffice.
  void resolve(obstacle const& why);

 private:
  /// Allocates a block. If a device has no memory left, its memory becomes the limit of the flow,
  /// so that the next try evicts data.
  void allocate(obstacle const& why);
  /// Restores the configured limit.
  /// @throws driver_error  The data of the task exceed it, or the device has no memory although
  ///                       nothing is left that can be evicted.
  void lift_limit(obstacle const& why);
  void wait_for_slot(place where) const;
  /// Destroys the blocks that were given up. @param all  Gives up all free blocks before.
  void destroy_unused(place where, bool all);

  runtime& owner_;
  dispatch::runtime_state& runtime_;
  std::mutex& mutex_;
  task_planner& planner_;
  task_name const task_;
  std::exception_ptr no_memory_;  // the last error of an allocation on a device
  bool is_last_try_ = false;
};

}  // namespace flotilla::flows
