// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses how many launches form a batch and how many lanes the batches use.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

namespace flotilla::dispatch {

struct batch_shape {
  std::uint32_t max_tasks = 1;  // maximum number of tasks in a batch; a power of two
  // Replaces `max_tasks` while the device is saturated. A device is saturated if at least `lanes *
  // chains` of its tasks are in flight or wait to be launched.
  std::uint32_t max_tasks_saturated = 1;
  std::uint32_t chains = 1;     // number of parallel chains in a batch
  std::uint32_t max_chain = 1;  // maximum length of a chain
  // Replaces `max_chain` in a batch that begins behind other tasks (see shape_for).
  std::uint32_t max_chain_behind = 1;
  // number of rows from one completion node to the next (see graph_template)
  std::uint32_t rows_per_completion = 1;
  std::uint32_t lanes = 8;  // number of lanes that the batches use
  // The maximum number of batches in flight on a lane. This many batches keep the lane busy until
  // the next pass. With more batches in flight, a new task would wait longer before it starts.
  std::uint32_t batches = 4;

  /// Returns the maximum size of a batch at the current load.
  /// @param at_hand  The load: the number of tasks that are in flight on the device or wait to be
  /// launched.
  [[nodiscard]] constexpr std::uint32_t max_batch(std::size_t at_hand) const noexcept {
    // A saturated device cannot run all tasks in parallel. Some tasks must wait even in small
    // batches, so the batch may be larger.
    return at_hand < std::size_t{lanes} * chains ? max_tasks : max_tasks_saturated;
  }
  /// Returns the maximum size of a batch whose tasks run one after another, at the current load.
  /// While the device is not saturated, a task that follows a long task gets its own batch. If both
  /// tasks were in one batch, the end of the long task would become visible only after the end of
  /// the second task.
  [[nodiscard]] constexpr std::uint32_t max_ordered_batch(std::size_t at_hand) const noexcept {
    return max_batch(at_hand) > chains ? max_chain : 1;
  }
};

// Boundaries between short, medium and long kernels, measured on an H200 (docs/performance.md).
inline constexpr float short_kernel_ns = 3000;  // with shorter kernels, 16 chains keep a GPU busy
// The minimum time of a long kernel. The first measurement of any kernel is wrong by at most this
// much.
inline constexpr float long_running_kernel_ns = 8000;
inline constexpr std::uint32_t lanes_of_short_kernels = 8;

/// Returns the shape of batches for a kernel that takes `kernel_ns` nanoseconds.
///
/// Batches of short kernels have two chains, because the GPU's front end is fastest with two chains
/// per batch. Sixteen chains, two in each of eight lanes, keep a GPU busy with kernels of up to 2.5
/// us: one task ends every 185 ns. With eight chains, one task ends every 204 ns, and with six
/// chains every 217 ns.
///
/// Batches of longer kernels have more chains on more lanes, so more kernels run in parallel. The
/// limit is 128 chains, because a GPU runs at most 128 kernels at once. With more chains, a batch's
/// completion kernel would have to wait for a place on the GPU.
///
/// Completion nodes inside a batch are at most about 60 us apart, or two kernels apart if two
/// kernels take longer. So the end of a task becomes visible at most 60 us late, or one kernel late
/// if a kernel takes more than 60 us. Kernels of 8 us and more run one after another in a batch
/// only if the device is saturated, or if the batch begins behind other tasks. In the second case
/// at most 60 us of kernels share a batch. Each graph launch leaves the GPU idle for about 3 us
/// between two tasks of a chain, which is much beside a kernel of 20 us and little beside one of 60
/// us.
[[nodiscard]] constexpr batch_shape shape_for(float kernel_ns) noexcept {
  constexpr float completion_interval_ns = 60'000;
  constexpr float max_batch_ns = 200'000;  // limited, as a new task may wait for a whole batch
  auto const rows = [kernel_ns](float time_ns) {
    return std::bit_floor(static_cast<std::uint32_t>(std::clamp(time_ns / kernel_ns, 2.0F, 64.0F)));
  };
  bool const is_short = kernel_ns < short_kernel_ns;
  bool const is_long = kernel_ns >= long_running_kernel_ns;
  batch_shape shape;
  shape.chains = is_short ? 2 : is_long ? 8 : 4;
  shape.rows_per_completion = rows(completion_interval_ns);
  shape.max_tasks_saturated = std::min(rows(max_batch_ns) * shape.chains, 64u);
  shape.max_chain = rows(max_batch_ns);
  shape.max_chain_behind = !is_long                                  ? shape.max_chain
                           : 2 * kernel_ns <= completion_interval_ns ? shape.rows_per_completion
                                                                     : 1;
  shape.max_tasks =
      is_long ? shape.chains : std::min(shape.rows_per_completion * shape.chains, 64u);
  shape.lanes = is_short ? lanes_of_short_kernels : 16;
  std::uint32_t const completions =
      shape.max_tasks_saturated / (shape.rows_per_completion * shape.chains);
  shape.batches = std::max(is_short || is_long ? 2u : 4u, 2 * completions);
  return shape;
}

}  // namespace flotilla::dispatch
