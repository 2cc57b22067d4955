// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many launches of a device are in flight.

#include <cstddef>
#include <cstdint>

#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
struct launch_counts {
  std::size_t launches = 0;         // number of launches in flight
  std::size_t urgent_launches = 0;  // number of launches in flight with a priority level above 0
  std::size_t long_running_batches = 0;  // number of long-running batches in flight
  // The number of batches in flight with a task_status. The successors of such a task start only
  // after a thread has ended the task.
  std::uint32_t status_batches = 0;
  std::uint32_t waiting_batches = 0;  // number of batches in flight that begin with a spin kernel
  // The number of batches in flight that exchange with other devices (graph_exchanges).
  std::uint32_t exchanging_batches = 0;

  /// Counts a batch of a launch lane.
  void add(lane const& lane, lane::batch const& batch) noexcept {
    launches += batch.count;
    if (lane_layout::level_of(lane.index()) != 0) { urgent_launches += batch.count; }
    if (batch.long_running) { ++long_running_batches; }
    if (batch.waits_on_device) { ++waiting_batches; }
    if (batch.has_status) { ++status_batches; }
    if (batch.exchanges) { ++exchanging_batches; }
  }
  /// Counts a batch of any lane as no longer in flight.
  void remove(lane const& lane, lane::batch const& batch) noexcept {
    if (!lane_layout::takes_launches(lane.index())) { return; }
    launches -= batch.count;
    if (lane_layout::level_of(lane.index()) != 0) { urgent_launches -= batch.count; }
    if (batch.long_running) { --long_running_batches; }
    if (batch.waits_on_device) { --waiting_batches; }
    if (batch.has_status) { --status_batches; }
    if (batch.exchanges) { --exchanging_batches; }
  }
};

}  // namespace flotilla::dispatch
