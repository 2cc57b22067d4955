// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies that a copy engine gets many at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/lane/filling_launches.hpp"

namespace flotilla::dispatch {

/// Collects copies between pinned host memory and the device, and enqueues those of one direction
/// with one call, cuMemcpyBatchAsync. On an H200, the driver needs 4 us for a copy that it gets by
/// itself, and 0.4 to 0.8 us for one of a batch. Kernels copy as fast in one direction. But with
/// copies in both directions at once, kernels reach 30 GB/s each way, and the two engines 43
/// (docs/results/h200-bus.txt).
///
/// A batch is enqueued at the end of a pass, or earlier if it is full. Until then its tasks are
/// neither launched nor in an open batch, so their successors park.
///
/// Threads: only the holder of the device's lease, with the context current.
class engine_batches {
 public:
  // Below, an engine spends most of its time between copies, and kernels are faster.
  static constexpr std::size_t min_bytes = std::size_t{32} << 10;
  // Above, a copy keeps an engine busy for longer than the driver needs for the call.
  static constexpr std::size_t max_bytes = std::size_t{4} << 20;
  // Copies of a batch end together: 64 copies of 64 KiB take 80 us.
  static constexpr std::size_t max_copies = 64;
  static constexpr std::size_t max_batch_bytes = std::size_t{8} << 20;
  // Fewer tasks than this are no flood. Copies that are part of a short chain of kernels take less
  // time in the graph of these kernels than in a stream of their own.
  static constexpr std::size_t min_expected = 16;

  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set& lanes;
    filling_launches const& filling;
    failure_reporter& reporter;
    batch_committer& committer;
  };
  explicit engine_batches(parts const& with) : parts_(with) {}

  /// Returns whether the copy is better in a batch than as a part of a grid or by itself.
  /// @param expected  How many tasks are about to start.
  [[nodiscard]] bool suits(slot& task, std::size_t expected) const noexcept;
  /// Adds a copy that `suits`.
  /// @param waits  The predecessors for which the stream must wait.
  /// @return false if the lane has no room.
  [[nodiscard]] bool add(slot_address task, std::span<end_mark const> waits);
  /// Enqueues the batch of this lane. Call it before other work is put into the lane.
  void flush(unsigned lane);
  /// Enqueues the batches of both directions.
  void flush_all();
  [[nodiscard]] bool empty() const noexcept { return up_.tasks.empty() && down_.tasks.empty(); }
  /// Moves all copies that are not enqueued to the end of `tasks`.
  void take(std::vector<slot_address>& tasks) {
    for (open_batch* const batch : {&up_, &down_}) {
      tasks.insert(tasks.end(), batch->tasks.begin(), batch->tasks.end());
      batch->tasks.clear();
      batch->waits.clear();
      batch->bytes = 0;
    }
  }

 private:
  struct open_batch {
    unsigned lane;
    std::vector<slot_address> tasks;
    std::vector<end_mark> waits;  // for which the lane's stream waits
    std::size_t bytes = 0;
  };
  [[nodiscard]] open_batch& batch_of(unsigned lane) noexcept {
    return lane == lane_layout::download_lane ? down_ : up_;
  }
  /// Removes the tasks that were cancelled, and ends them.
  void remove_cancelled(open_batch& batch);
  /// Enqueues the copies with one call. Joins copies that continue each other in both memories.
  [[nodiscard]] CUresult enqueue(std::span<slot_address const> tasks, CUstream stream);
  /// Enqueues the copies one by one, so that each gets its own status. Removes those that the
  /// driver refuses.
  void enqueue_each(std::vector<slot_address>& tasks, CUstream stream);

  parts const parts_;
  open_batch up_{lane_layout::upload_lane, {}, {}};
  open_batch down_{lane_layout::download_lane, {}, {}};
  // scratch memory of enqueue
  std::array<CUdeviceptr, max_copies> to_;
  std::array<CUdeviceptr, max_copies> from_;
  std::array<std::size_t, max_copies> bytes_;
};

}  // namespace flotilla::dispatch
