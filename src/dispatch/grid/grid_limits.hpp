// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many blocks a grid of several launches should have.

#include <algorithm>
#include <array>
#include <cstdint>

#include "context/context_handle.hpp"
#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// The limits on one device. Threads: any, after `create`.
class grid_limits {
 public:
  using size = std::array<std::uint32_t, 3>;

  /// The maximum number of blocks of a launch in a grid, on any device.
  static constexpr std::uint64_t max_blocks_of_any_launch = 1024;
  /// A grid of short kernels may have so many blocks that they run one after another for this time.
  static constexpr float max_grid_ns = 60'000;

  constexpr grid_limits() = default;
  explicit constexpr grid_limits(std::uint64_t multiprocessors)
      : multiprocessors_(std::max<std::uint64_t>(multiprocessors, 1)) {}
  /// Asks the driver for the size of the device. Call it with the context current.
  void create(context::context_handle const& context) noexcept;

  /// Returns whether a launch may be part of a grid, as far as its kernel and its size tell: its
  /// kernel has a twin, and the launch is small beside the device.
  [[nodiscard]] bool accept(kernel_entry const& kernel, size const& grid,
                            size const& block) const noexcept;
  /// Returns the number of blocks with so many threads that the device runs at the same time, as if
  /// other resources than threads did not limit it.
  [[nodiscard]] constexpr std::uint64_t capacity(std::uint64_t threads) const noexcept {
    return multiprocessors_ *
           std::clamp<std::uint64_t>(threads_at_once / std::max<std::uint64_t>(threads, 1), 1,
                                     max_blocks_at_once);
  }
  /// Returns how many blocks a launch may have that shares a grid with others. A larger launch is
  /// launched alone: a device needs few such launches to be busy, and a twin may need more
  /// registers than its kernel.
  /// @param threads  the number of threads of a block
  [[nodiscard]] constexpr std::uint64_t max_blocks_of_launch(std::uint64_t threads) const noexcept {
    return std::min(capacity(threads) / max_share, max_blocks_of_any_launch);
  }
  /// Returns how many blocks a grid should have at most. With more, its first blocks would end long
  /// before the grid ends. The blocks of short kernels may run one after another for some time.
  /// @param kernel_ns  the estimated duration of the kernel
  [[nodiscard]] constexpr std::uint64_t max_blocks(std::uint64_t threads,
                                                   float kernel_ns) const noexcept {
    float const rounds = std::clamp(max_grid_ns / std::max(kernel_ns, 1.0F), 1.0F, max_rounds);
    return capacity(threads) * static_cast<std::uint64_t>(rounds);
  }

  /// Returns how many times the device must start as many blocks as it runs at the same time, to
  /// run so many blocks.
  [[nodiscard]] constexpr std::uint32_t rounds(std::uint64_t threads,
                                               std::uint64_t blocks) const noexcept {
    std::uint64_t const at_once = capacity(threads);
    return static_cast<std::uint32_t>((blocks + at_once - 1) / at_once);
  }

  /// Returns the number of blocks of a grid, or of threads of a block.
  [[nodiscard]] static constexpr std::uint64_t count(size const& of) noexcept {
    return std::uint64_t{of[0]} * of[1] * of[2];
  }

 private:
  static constexpr std::uint64_t max_share = 4;
  static constexpr float max_rounds = 16;
  // A multiprocessor runs at least this many threads at a time, unless registers or shared memory
  // limit it.
  static constexpr std::uint64_t threads_at_once = 1536;
  static constexpr std::uint64_t max_blocks_at_once = 16;  // per multiprocessor

  std::uint64_t multiprocessors_ = 1;
};

}  // namespace flotilla::dispatch
