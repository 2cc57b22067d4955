// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an ordered twin reads about the order of its launches.

#include <cstdint>

#include <flotilla/detail/ordered_twin.hpp>

#include "dispatch/grid/grid_order.hpp"
#include "dispatch/grid/grid_records.hpp"
#include "dispatch/grid/order_words.hpp"

namespace flotilla::dispatch {

/// Writes the records of the order behind those of the tasks. Threads: only the holder of the
/// device's lease.
class order_records {
 public:
  /// @param words  The words of the piece that is written.
  order_records(grid_records& records, task_table const& tasks, order_words::words& words) noexcept
      : records_(records), tasks_(tasks), words_(words) {}

  /// Returns the parameters of the ordered twin that have to do with the order.
  [[nodiscard]] detail::ordered_twin_parameters write(grid_order const& order);
  /// Records that the grid was launched, so the words will have its values. If it was not launched,
  /// they keep the values that they had.
  void commit(grid_order const& order) noexcept;

 private:
  [[nodiscard]] std::uint32_t blocks(slot_address task) const noexcept {
    return static_cast<std::uint32_t>(blocks_of(tasks_.at(task)));
  }
  /// Adds to the counts of ended blocks in `waves` what the grid adds to the words: its blocks, and
  /// the end of the wave before. The last wave writes no number, so its blocks are not counted.
  void count_waves(grid_order const& order,
                   std::array<std::uint32_t, detail::twin_words::max_waves>& waves) const noexcept;

  grid_records& records_;
  task_table const& tasks_;
  order_words::words& words_;
};

}  // namespace flotilla::dispatch
