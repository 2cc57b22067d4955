// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/chunk_limits.hpp"

#include <algorithm>

#include "dispatch/graph/launch_shape.hpp"

namespace flotilla::dispatch {

namespace {

// A chunk should occupy a CPU device for at most this time, because other tasks wait meanwhile.
constexpr float max_turn_ns = 2'000'000;

std::uint64_t product(extent const& of) noexcept { return std::uint64_t{of.x} * of.y * of.z; }

}  // namespace

chunk_limits::chunk_limits(kernel_table const& kernels, std::span<device const> devices)
    : kernels_(kernels) {
  for (device const& each : devices) {
    auto const multiprocessors = static_cast<std::uint64_t>(std::max(each.multiprocessors, 1));
    devices_.push_back({grid_limits{multiprocessors}, each.kind == device_kind::cpu});
  }
}

chunk_limits::limit chunk_limits::on(unsigned device, kernel_entry const& kernel,
                                     std::uint64_t blocks, std::uint64_t threads) const noexcept {
  one_device const& where = devices_[device];
  // relaxed: the duration is only an estimate
  float const ns = kernel.durations[device].load(std::memory_order_relaxed);
  if (ns == 0 || blocks > where.limits.max_blocks_of_launch(threads)) { return {}; }
  limit found{max_items, where.limits.max_blocks(threads, ns),
              where.limits.max_blocks_of_launch(threads)};
  if (where.runs_in_turn) {
    found.items =
        std::min(found.items, static_cast<std::uint32_t>(max_turn_ns / std::max(ns, 1.0F)));
  }
  found.items =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(found.items, found.blocks / blocks));
  return found.items < min_items ? limit{} : found;
}

chunk_limits::limit chunk_limits::of(std::uint32_t kernel, extent const& grid, extent const& block,
                                     std::optional<unsigned> device) const noexcept {
  kernel_entry const& entry = kernels_.kernels[kernel];
  std::uint64_t const threads = product(block);
  if (entry.twin.functions.empty() || threads > entry.twin.max_threads ||
      !is_valid_grid({grid.x, grid.y, grid.z})) {
    return {};
  }
  std::uint64_t const blocks = product(grid);
  if (device) { return on(*device, entry, blocks, threads); }
  // Any device may take the chunk, so use the lowest limit. A device that has not measured the
  // kernel yet does not count: it divides a chunk that is too large.
  limit lowest{};
  for (unsigned i = 0; i < devices_.size(); ++i) {
    if (entry.durations[i].load(std::memory_order_relaxed) == 0) { continue; }
    limit const found = on(i, entry, blocks, threads);
    if (found.items == 0) { return {}; }
    if (lowest.items == 0) { lowest = found; }
    lowest.items = std::min(lowest.items, found.items);
    lowest.blocks = std::min(lowest.blocks, found.blocks);
    lowest.blocks_of_item = std::min(lowest.blocks_of_item, found.blocks_of_item);
  }
  return lowest;
}

}  // namespace flotilla::dispatch
