// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/chunk_launcher.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/task/chunk_command.hpp"

namespace flotilla::dispatch {

namespace {

std::uint64_t threads_of(slot const& task) noexcept {
  return grid_limits::count({task.block[0], task.block[1], task.block[2]});
}

/// The record of an item of a chunk.
detail::twin_record record_of(chunk_launcher::chunk_records const& records,
                              chunk_command const& what, std::uint32_t item) noexcept {
  detail::twin_record found;
  std::memcpy(&found, records.host + std::uint64_t{item} * what.stride, sizeof found);
  return found;
}
void write_record(chunk_launcher::chunk_records const& records, chunk_command const& what,
                  std::uint32_t item, detail::twin_record const& changed) noexcept {
  std::memcpy(records.host + std::uint64_t{item} * what.stride, &changed, sizeof changed);
}
std::uint64_t blocks_of(chunk_launcher::chunk_records const& records, chunk_command const& what,
                        std::uint32_t item) noexcept {
  detail::twin_record const of = record_of(records, what, item);
  return std::uint64_t{of.grid[0]} * of.grid[1] * of.grid[2];
}

}  // namespace

CUresult chunk_launcher::launch_twin(lane const& lane, slot const& form,
                                     detail::twin_parameters parameters, std::uint32_t blocks) {
  driver::table const& api = parts_.context.api();
  unsigned const device = parts_.lanes.device();
  kernel_entry const& kernel = parts_.kernels.kernels[form.kernel];
  if (form.shared_bytes != 0) [[unlikely]] {
    allow_shared_bytes(api, kernel, device, form.shared_bytes);
  }
  void* arguments[] = {&parameters.records, &parameters.blocks, &parameters.stride,
                       &parameters.blocks_each};
  return api.launch_kernel(kernel.twin.functions[device], blocks, 1, 1, form.block[0],
                           form.block[1], form.block[2], form.shared_bytes, lane.stream(),
                           arguments, nullptr);
}

std::uint32_t chunk_launcher::count_of_items(slot_address chunk, chunk_records const& records,
                                             std::uint32_t from, float kernel_ns) const noexcept {
  slot& task = parts_.tasks.at(chunk);
  chunk_command const& what = held_in<chunk_command>(task);
  std::uint64_t const max = parts_.limits.max_blocks(threads_of(task), kernel_ns);
  if (from == 0 && what.blocks <= max) { return what.count; }
  std::uint64_t blocks = 0;
  std::uint32_t count = 0;
  while (from + count < what.count) {
    blocks += blocks_of(records, what, from + count);
    if (count != 0 && blocks > max) { break; }
    ++count;
  }
  return count;
}

std::uint32_t chunk_launcher::rounds_of(slot_address chunk) const noexcept {
  slot& task = parts_.tasks.at(chunk);
  return parts_.limits.rounds(threads_of(task), held_in<chunk_command>(task).blocks);
}

void chunk_launcher::number_blocks(slot_address chunk,
                                   chunk_records const& records) const noexcept {
  chunk_command const& what = held_in<chunk_command>(parts_.tasks.at(chunk));
  std::uint32_t const last = what.count - 1;
  // If the chunk was divided, the numbers of its last grid begin with 0 and are too small.
  std::uint64_t const end =
      record_of(records, what, last).first_block + blocks_of(records, what, last);
  if (end == what.blocks) { return; }
  std::uint64_t first_block = 0;
  for (std::uint32_t i = 0; i < what.count; ++i) {
    detail::twin_record changed = record_of(records, what, i);
    changed.first_block = static_cast<std::uint32_t>(first_block);
    write_record(records, what, i, changed);
    first_block += blocks_of(records, what, i);
  }
}

CUresult chunk_launcher::launch_items(lane const& lane, slot_address chunk,
                                      chunk_records const& records, std::uint32_t from,
                                      std::uint32_t count) {
  slot& task = parts_.tasks.at(chunk);
  chunk_command const& what = held_in<chunk_command>(task);
  if (count == what.count) {
    return launch_twin(lane, task,
                       {records.device, records.device + std::uint64_t{what.count} * what.stride,
                        what.stride, what.blocks_each},
                       what.blocks);
  }
  // The grid begins with the first block of the item `from`, so count its blocks from there.
  std::uint32_t const first_block = record_of(records, what, from).first_block;
  std::uint64_t blocks = 0;
  for (std::uint32_t i = from; i < from + count; ++i) {
    detail::twin_record changed = record_of(records, what, i);
    changed.first_block -= first_block;
    write_record(records, what, i, changed);
    blocks += blocks_of(records, what, i);
  }
  // A division finds the items from `from` on. The table has the indices of all items.
  std::uint64_t const skipped = what.blocks_each != 0 ? std::uint64_t{from} * what.stride : 0;
  return launch_twin(lane, task,
                     {records.device + skipped,
                      records.device + std::uint64_t{what.count} * what.stride +
                          first_block * sizeof(std::uint32_t),
                      what.stride, what.blocks_each},
                     static_cast<std::uint32_t>(blocks));
}

CUresult chunk_launcher::complete(lane& lane, batch_traits const& traits) {
  // A write-value operation costs the host 0.6 us and a kernel launch 3.3 us. A grid of short
  // kernels ends as soon as one of its tasks, so it counts as one task here.
  CUfunction const kernel = parts_.launcher.completion_for(traits, 1);
  if (kernel == nullptr) { return lane.commit_with_write(); }
  CUdeviceptr counter = lane.counter();
  std::uint64_t number = lane.last_number() + 1;
  void* arguments[] = {&counter, &number};
  CUresult const answer = parts_.context.api().launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0,
                                                             lane.stream(), arguments, nullptr);
  if (answer != CUDA_SUCCESS) { return lane.commit_with_write(); }
  lane.commit();
  return CUDA_SUCCESS;
}

}  // namespace flotilla::dispatch
