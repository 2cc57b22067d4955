// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches that are collected for one graph launch.

#include <array>
#include <cstdint>
#include <vector>

#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/lane/lane.hpp"

namespace flotilla::dispatch {

/// A batch that is not launched yet. At the end of each pass the open batch is empty. Threads: only
/// the holder of the device's lease.
struct open_batch {
  std::array<slot_address, lane::max_tasks> tasks;
  std::uint32_t count = 0;
  std::uint64_t blocks = 0;  // number of blocks of all tasks
  float kernel_ns = 0;       // the estimated duration of the longest kernel
  // A launch of the form of the first task, with at most so many blocks, can be part of a grid.
  std::uint64_t max_blocks_of_task = 0;
  std::uint32_t max_tasks = 1;
  std::uint64_t max_blocks = 0;  // of a batch that is launched as grids; others have no limit
  std::uint32_t max_chain = 1;   // replaces max_tasks if the tasks run one after another
  // Whether the batch waits for predecessors. If so, only tasks with predecessors may join the
  // batch, because other tasks would wait without need.
  bool waits = false;
  // Whether tasks with other predecessors may join. They may not if the batch waits for another
  // device, because such a wait takes long.
  bool may_grow = false;
  std::vector<end_mark> marks;     // launched predecessors for which the lane's stream must wait
  std::uint64_t lanes_before = 0;  // other lanes whose open batches of earlier waves must end first
  // The open batches of other devices that must end first (joint_waves).
  std::vector<place_elsewhere> before_elsewhere;
  // Whether tasks of other devices follow tasks of the batch. Then it should end soon.
  bool is_awaited_elsewhere = false;
  batch_traits traits;

  [[nodiscard]] bool has_room() const noexcept {
    return count < max_tasks && (!traits.grids || blocks < max_blocks);
  }
  /// Removes the tasks, and keeps the memory of the vectors.
  void reset() noexcept {
    count = 0;
    blocks = 0;
    kernel_ns = 0;
    waits = false;
    may_grow = false;
    marks.clear();
    lanes_before = 0;
    before_elsewhere.clear();
    is_awaited_elsewhere = false;
    // Otherwise a second flush of the empty batch would count its device-side wait again.
    traits.device_wait = {};
    traits.grids = traits.all_in_grids = traits.one_form = false;
  }
};

}  // namespace flotilla::dispatch
