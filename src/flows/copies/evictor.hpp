// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frees memory on a device that has none left.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>

#include "flows/copies/data_mover.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/memory/place_memory.hpp"

namespace flotilla::flows {

/// What eviction has done on one device.
struct eviction_counts {
  std::uint64_t evicted = 0;  // replicas
  std::uint64_t written = 0;  // replicas that were copied to the host for this purpose
};

/// Evicts data that the task to be submitted does not use. Data whose only valid copy is on the
/// device are copied to the host first. No call waits: tasks that use the evicted data may still
/// run, and tasks that get the memory run after them. Threads: the caller holds the flow's mutex.
class evictor {
 public:
  /// @param memories  By place::index.
  evictor(data_mover& mover, std::vector<place_memory>& memories)
      : mover_(mover), memories_(memories), counts_(memories.size()) {}

  /// Makes room for one of the data of a task: afterwards, there is a free block for these data, or
  /// the flow may allocate one.
  /// @param uses  The data of the task. They are not evicted.
  [[nodiscard]] obstacle make_room(detail::datum const& which, place where,
                                   std::span<detail::datum_use const> uses);
  /// If the data take more than the high watermark: starts to copy data that may be evicted soon to
  /// the host, if they have memory there.
  /// @param uses  The data of the task to be submitted. They are not copied.
  void heed_watermarks(place where, std::span<detail::datum_use const> uses);
  [[nodiscard]] eviction_counts const& counts(place of) const noexcept {
    return counts_[of.index()];
  }

 private:
  [[nodiscard]] detail::datum* choose(place where, std::span<detail::datum_use const> uses);
  /// Copies data to the host, if the only valid copy is at `where`.
  [[nodiscard]] obstacle write_back(detail::datum& which, place where);
  /// Starts to copy data that may be evicted soon to the host, so that later tasks need not wait
  /// for these copies. Does only what is possible without waiting.
  void write_back_ahead(place where);
  void evict(detail::datum& which, place where);

  data_mover& mover_;
  std::vector<place_memory>& memories_;
  std::vector<eviction_counts> counts_;  // by place::index
};

}  // namespace flotilla::flows
