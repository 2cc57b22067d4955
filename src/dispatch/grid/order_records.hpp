// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an ordered twin reads about the order of its launches.

#include <array>
#include <cstdint>
#include <span>

#include <flotilla/detail/ordered_twin.hpp>

#include "dispatch/grid/grid_order.hpp"
#include "dispatch/grid/grid_records.hpp"
#include "dispatch/grid/order_words.hpp"

namespace flotilla::dispatch {

/// A grid and its words.
struct ordered_part {
  grid_order* order = nullptr;
  order_words::words* words = nullptr;
};

/// By device: the grids for which tasks of other devices may wait (grid_order::others).
struct ordered_parts {
  std::span<ordered_part const> together;
  std::span<ordered_part const> before;
};

/// Writes the records of the order behind those of the tasks. Threads: only the holder of the
/// device's lease.
class order_records {
 public:
  order_records(grid_records& records, task_table const& tasks) noexcept
      : records_(records), tasks_(tasks) {}

  /// Writes the records of a grid. The ends of all orders must be set.
  /// @param others  The grids for which it may wait.
  /// @param flags   Flags of each twin_order.
  /// @return the parameters of the ordered twin that have to do with the order.
  [[nodiscard]] detail::ordered_twin_parameters write(ordered_part const& own,
                                                      ordered_parts const& others,
                                                      std::uint32_t flags);
  /// Changes the flags of each twin_order, while the grid may be running.
  void decide(std::uint32_t flags) const noexcept;
  /// Records that the grid was launched, so the words will have its values. If it was not launched,
  /// they keep the values that they had.
  void commit(ordered_part const& own) const noexcept;

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
  std::span<detail::twin_order> orders_;
};

}  // namespace flotilla::dispatch
