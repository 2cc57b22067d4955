// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches that are collected for one graph launch.

#include <array>
#include <cstdint>

#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/lane/lane.hpp"

namespace flotilla::dispatch {

/// The next batch of one lane. At the end of each pass the open batch is empty. Threads: only the
/// holder of the device's lease.
struct open_batch {
  std::array<slot_address, lane::max_tasks> tasks;
  std::uint32_t count = 0;
  std::uint32_t max_tasks = 1;
  std::uint32_t max_chain = 1;  // replaces max_tasks if the tasks run one after another
  // Whether the batch or its lane's stream waits for a predecessor. If so, only tasks that depend
  // on a task of this batch may join the batch, because other tasks would wait without need.
  bool waits = false;
  batch_traits traits;
};

}  // namespace flotilla::dispatch
