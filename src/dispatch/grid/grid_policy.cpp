// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_policy.hpp"

#include <algorithm>

#include "dispatch/graph/copy_kernels.hpp"
#include "dispatch/grid/grid_records.hpp"

namespace flotilla::dispatch {

namespace {

grid_limits::size grid_of(slot const& task) noexcept {
  return {task.grid[0], task.grid[1], task.grid[2]};
}
grid_limits::size block_of(slot const& task) noexcept {
  return {task.block[0], task.block[1], task.block[2]};
}

}  // namespace

bool grid_policy::takes(slot const& task) const noexcept {
  return takes_like(task) &&
         limits_.accept(kernels_.kernels[task.kernel], grid_of(task), block_of(task));
}

std::uint64_t grid_policy::max_blocks_of_task(slot const& form, float kernel_ns) const noexcept {
  constexpr std::uint64_t kernels_at_once = 128;
  constexpr float max_share_ns = 250;
  std::uint64_t const threads = grid_limits::count(block_of(form));
  std::uint64_t const at_once = limits_.capacity(threads);
  auto const of_share =
      static_cast<std::uint64_t>(max_share_ns * static_cast<float>(at_once) / kernel_ns);
  return std::min(limits_.max_blocks_of_launch(threads),
                  std::max(at_once / kernels_at_once, of_share));
}

bool grid_policy::fills_device(slot const& task) const noexcept {
  return blocks_of(task) >= limits_.capacity(grid_limits::count(block_of(task)));
}

bool grid_policy::can_be_ordered(slot const& form) const noexcept {
  // Every device allows a launch so much shared memory without being asked.
  constexpr std::uint32_t max_shared_bytes = 48 * 1024;
  kernel_twin const& twin = kernels_.kernels[form.kernel].twin;
  return !twin.ordered.empty() && grid_limits::count(block_of(form)) <= twin.max_threads_ordered &&
         form.shared_bytes + twin.static_shared_bytes_ordered <= max_shared_bytes;
}

std::uint64_t grid_policy::max_ordered_blocks(slot const& form) const noexcept {
  return std::min<std::uint64_t>(limits_.capacity(grid_limits::count(block_of(form))),
                                 grid_records::max_blocks);
}

std::uint32_t grid_policy::rounds(slot const& form, std::uint64_t blocks) const noexcept {
  return limits_.rounds(grid_limits::count(block_of(form)), blocks);
}

std::uint64_t grid_policy::max_blocks(slot const& task, float kernel_ns) const noexcept {
  std::uint64_t const threads = grid_limits::count(block_of(task));
  if (builtin_index::contains(task.kernel)) {
    return std::clamp<std::uint64_t>(limits_.capacity(threads) / (2 * copy_kernels::lanes),
                                     copy_kernels::min_blocks_of_grid,
                                     copy_kernels::max_blocks_of_grid);
  }
  return std::min<std::uint64_t>(limits_.max_blocks(threads, kernel_ns),
                                 grid_records::max_blocks - grid_limits::max_blocks_of_any_launch);
}

}  // namespace flotilla::dispatch
