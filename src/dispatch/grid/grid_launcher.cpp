// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_launcher.hpp"

#include <algorithm>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/graph/updatable.hpp"

namespace flotilla::dispatch {

namespace {

// A launch with more than a quarter of the blocks that run at once is launched alone: a device
// needs few such launches to be busy, and a twin may need more registers than its kernel.
constexpr std::uint64_t max_share = 4;
// A grid of short kernels may have so many blocks that they run one after another for this time.
// The maximum number of blocks of a launch in a grid, on any device.
constexpr std::uint64_t max_blocks_of_launch = 1024;
constexpr float max_grid_ns = 60'000;
constexpr float max_rounds = 16;
// A multiprocessor runs at least this many threads at a time, unless registers or shared memory
// limit it.
constexpr std::uint64_t threads_at_once = 1536;
constexpr std::uint64_t max_blocks_at_once = 16;  // per multiprocessor

static_assert(grid_records::fit(lane::max_tasks, slot::inline_bytes),
              "the records of every batch fit into one piece");

std::uint64_t blocks_of(slot const& task) noexcept {
  return std::uint64_t{task.grid[0]} * task.grid[1] * task.grid[2];
}
std::uint64_t threads_of(slot const& task) noexcept {
  return std::max<std::uint64_t>(std::uint64_t{task.block[0]} * task.block[1] * task.block[2], 1);
}

}  // namespace

grid_launcher::grid_launcher(parts const& with)
    : parts_(with), records_(with.launcher.slabs(), with.tasks) {}

void grid_launcher::create() noexcept {
  driver::table const& api = parts_.context.api();
  CUdevice device{};
  int count = 0;
  if (api.ctx_get_device(&device) == CUDA_SUCCESS &&
      api.device_get_attribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ==
          CUDA_SUCCESS) {
    multiprocessors_ = static_cast<std::uint64_t>(std::max(count, 1));
  }
}

std::uint64_t grid_launcher::capacity(slot const& task) const noexcept {
  std::uint64_t const each =
      std::clamp<std::uint64_t>(threads_at_once / threads_of(task), 1, max_blocks_at_once);
  return each * multiprocessors_;
}

bool grid_launcher::takes(slot const& task) const noexcept {
  kernel_twin const& twin = parts_.kernels.kernels[task.kernel].twin;
  return !twin.functions.empty() && !task.large && !task.attributed &&
         threads_of(task) <= twin.max_threads &&
         is_valid_grid({task.grid[0], task.grid[1], task.grid[2]}) &&
         blocks_of(task) <= std::min(capacity(task) / max_share, max_blocks_of_launch);
}

bool grid_launcher::have_one_form(slot const& one, slot const& other) const noexcept {
  return one.kernel == other.kernel && one.shared_bytes == other.shared_bytes &&
         std::equal(one.block, one.block + 3, other.block);
}

std::uint64_t grid_launcher::max_blocks(slot const& task, float kernel_ns) const noexcept {
  float const rounds = std::clamp(max_grid_ns / std::max(kernel_ns, 1.0F), 1.0F, max_rounds);
  return std::min<std::uint64_t>(capacity(task) * static_cast<std::uint64_t>(rounds),
                                 grid_records::max_blocks - max_blocks_of_launch);
}

std::size_t grid_launcher::count_of_grid(std::span<slot_address const> tasks) const noexcept {
  slot const& first = parts_.tasks.at(tasks[0]);
  std::uint32_t const argument_bytes = parts_.kernels.kernels[first.kernel].argument_bytes;
  std::uint64_t blocks = 0;
  std::size_t count = 0;
  while (count < tasks.size() && count < lane::max_tasks) {
    slot const& one = parts_.tasks.at(tasks[count]);
    blocks += blocks_of(one);
    if (!have_one_form(one, first) || !takes(one) || blocks > grid_records::max_blocks ||
        !grid_records::fit(count + 1, argument_bytes)) {
      break;
    }
    ++count;
  }
  return count;
}

CUresult grid_launcher::launch_twin(lane const& lane, slot const& any,
                                    grid_records::written const& records) {
  driver::table const& api = parts_.context.api();
  unsigned const device = parts_.lanes.device();
  kernel_entry const& kernel = parts_.kernels.kernels[any.kernel];
  if (any.shared_bytes != 0) [[unlikely]] {
    allow_shared_bytes(api, kernel, device, any.shared_bytes);
  }
  detail::twin_parameters parameters = records.parameters;
  void* arguments[] = {&parameters.records, &parameters.blocks, &parameters.stride,
                       &parameters.blocks_each};
  return api.launch_kernel(kernel.twin.functions[device], records.blocks, 1, 1, any.block[0],
                           any.block[1], any.block[2], any.shared_bytes, lane.stream(), arguments,
                           nullptr);
}

CUresult grid_launcher::complete(lane& lane, batch_traits const& traits) {
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

grid_launcher::outcome grid_launcher::launch(lane& lane, std::span<slot_address const> tasks,
                                             batch_traits const& traits) {
  slot const& first = parts_.tasks.at(tasks[0]);
  grid_records::written records{};
  try {
    records = records_.write(tasks, parts_.kernels.kernels[first.kernel].argument_bytes);
  } catch (driver_error const& why) { return {nullptr, static_cast<CUresult>(why.status())}; }
  if (CUresult const answer = launch_twin(lane, first, records); answer != CUDA_SUCCESS) {
    records_.give_back(records.memory);
    return {nullptr, answer};
  }
  lane::batch& batch = lane.begin();
  batch.records = records.memory;
  batch.long_running = traits.long_running;
  batch.count = static_cast<std::uint32_t>(tasks.size());
  std::copy(tasks.begin(), tasks.end(), batch.tasks.begin());
  return {&batch, CUDA_SUCCESS, complete(lane, traits)};
}

}  // namespace flotilla::dispatch
