// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches the chunks of bulks.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "dispatch/batching/kernel_sampler.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/grid/chunk_launcher.hpp"

namespace flotilla::dispatch {

/// A chunk is a batch of its own. No other task joins it, and it joins no batch.
///
/// Threads: only the holder of the device's lease, with the context current.
class chunk_starter {
 public:
  struct parts {
    runtime_parts const& shared;
    lane_set& lanes;
    open_waves const& waves;
    kernel_profiles& profiles;
    kernel_sampler& sampler;
    batch_launcher& launcher;
    chunk_launcher& grids;
    failure_reporter& reporter;
  };
  explicit chunk_starter(parts const& with) noexcept;

  /// Launches a chunk.
  /// @param waits  The predecessors of the chunk that have not ended.
  /// @return false if no lane has room. Then nothing has happened.
  [[nodiscard]] bool start(slot_address chunk, std::vector<end_mark> const& waits);

  /// The number of launches so far. Threads: any.
  [[nodiscard]] std::uint64_t launched() const noexcept {
    return launched_.load(std::memory_order_relaxed);
  }

 private:
  /// An item that the driver refused although it was launched alone.
  struct refusal {
    std::uint32_t item;
    CUresult why;
  };
  /// Returns a lane for the chunk, or no_lane.
  [[nodiscard]] unsigned find_lane(priority_level level, std::vector<end_mark> const& waits);
  /// Launches a chunk as one batch of the lane: as one grid, or as several if the grid would be too
  /// large. If the driver refuses a grid, launches the remaining items one by one, so that each
  /// item gets its own status.
  void launch(slot_address chunk, lane& lane);
  /// Launches the grids of a chunk.
  /// @param launched  Receives how many items are in the stream.
  [[nodiscard]] CUresult launch_grids(slot_address chunk, lane& lane,
                                      chunk_launcher::chunk_records const& records,
                                      std::uint32_t& launched);
  /// Launches the items from `launched` on, one by one, and counts those that are in the stream.
  void launch_items(slot_address chunk, lane& lane, chunk_launcher::chunk_records const& records,
                    std::uint32_t& launched);
  /// Returns whether the driver is unusable, because it has returned a sticky error.
  [[nodiscard]] bool is_lost() const noexcept;
  /// Records the failures of the items in `refused_`.
  void note_refused(slot_address chunk);

  parts const parts_;
  std::array<unsigned, priority_levels> last_lane_;  // by level
  // scratch memory of `launch`
  std::vector<refusal> refused_;
  std::vector<CUresult> errors_;            // all errors of the driver
  std::atomic<std::uint64_t> launched_{0};  // written by the holder of the lease
};

}  // namespace flotilla::dispatch
