// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/batch_launcher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/graph_memory.hpp"
#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/graph/updatable.hpp"

namespace flotilla::dispatch {

namespace {

// A thread probably waits for a batch of at most this size, so the end of such a batch should
// become visible soon.
constexpr std::uint32_t max_prompt_size = 8;

/// Returns the size of the template for the first tasks of a batch of `tasks` tasks. A disabled
/// node costs the GPU as much as an empty kernel. A graph launch costs this thread as much as ten
/// nodes. So one template with a few disabled nodes is better than several smaller templates.
std::uint32_t template_size(std::uint32_t tasks) noexcept {
  std::uint32_t const above = std::bit_ceil(tasks);
  auto const launches_saved = static_cast<std::uint32_t>(std::popcount(tasks)) - 1;
  return above - tasks <= 2 * launches_saved ? above : std::bit_floor(tasks);
}

}  // namespace

batch_launcher::batch_launcher(parts const& with)
    : parts_(with),
      templates_(with.context),
      slabs_(with.context),
      device_updated_(with.context, slabs_) {}

void batch_launcher::create(CUstream idle_stream, builtin_functions const* replacements) {
  builtins_.create(parts_.context);
  if (functions().completion != nullptr) {
    reserve_graph_memory(parts_.context, functions().completion, idle_stream);
  }
  if (replacements != nullptr) { builtins_.use(*replacements); }
  templates_.use(functions().entry, functions().spin);
  device_updated_.use(functions().update);
  if (device_updated_.usable()) { slabs_.begin(); }
}

void batch_launcher::destroy() noexcept {
  templates_.destroy();
  device_updated_.destroy();
  slabs_.destroy();
  builtins_.destroy(parts_.context);
}

CUfunction batch_launcher::completion_for(batch_traits const& traits,
                                          std::uint32_t size) const noexcept {
  // The write of a write-value operation becomes visible sooner than the completion kernel's write:
  // a hop between two devices takes 5.5 us instead of 7 us. But a write-value operation waits for
  // all work on its hardware connection (builtin_functions::completion). So only small batches of
  // short kernels end with a write-value operation, and only while nothing long is in flight.
  bool const prompt = size <= max_prompt_size && traits.prompt && !traits.long_running &&
                      !traits.device_wait.valid();
  return prompt ? nullptr : functions().completion;
}

bool batch_launcher::have_one_form(std::span<slot_address const> tasks) const noexcept {
  slot const& first = parts_.tasks.at(tasks[0]);
  return std::all_of(tasks.begin(), tasks.end(), [&](slot_address const task) {
    slot const& one = parts_.tasks.at(task);
    return std::equal(one.block, one.block + 3, first.block) &&
           one.shared_bytes == first.shared_bytes &&
           is_valid_grid({one.grid[0], one.grid[1], one.grid[2]});
  });
}

graph_template* batch_launcher::take_device_updated(lane const& lane,
                                                    std::span<slot_address const> tasks,
                                                    batch_traits const& traits,
                                                    std::uint32_t size) {
  std::uint32_t const min_nodes = traits.long_running ? device_updated_pool::min_nodes_long_running
                                                      : device_updated_pool::min_nodes;
  // A device update delays the first task by 3 us. If the batch waits for another device, if its
  // tasks run one after another, or if other tasks wait for it, the delay costs more than the
  // update saves.
  bool const pays =
      size >= min_nodes && !traits.ordered && !traits.is_awaited && !traits.device_wait.valid();
  if (!pays || !device_updated_.usable() || traits.kernel == batch_traits::no_kernel) {
    return nullptr;
  }
  std::uint32_t const argument_bytes = parts_.kernels.kernels[traits.kernel].argument_bytes;
  if (argument_bytes > node_record::max_argument_bytes ||
      !have_one_form(tasks.first(std::min<std::size_t>(size, tasks.size())))) {
    return nullptr;
  }
  slot const& first = parts_.tasks.at(tasks[0]);
  std::uint32_t const chains = std::min(traits.chains, size);
  device_updated_pool::request const wanted{
      .form = {{size, chains, std::min(traits.rows_per_completion, size / chains)},
               traits.kernel,
               {first.block[0], first.block[1], first.block[2]},
               first.shared_bytes},
      .argument_bytes = argument_bytes,
      .counter = lane.counter(),
      .completion = completion_for(traits, size),
      .stream = lane.stream(),
      .full = tasks.size() >= size,
      .device_idle = !parts_.lanes.any_busy()};
  return device_updated_.take(
      wanted, [ this, &tasks ](std::uint32_t i) -> auto& { return node_of(tasks[i]); });
}

std::byte const* batch_launcher::arguments_of(slot_address task) const noexcept {
  slot const& one = parts_.tasks.at(task);
  return one.large ? parts_.tasks.side(task).arguments.get() : one.bytes;
}

CUDA_KERNEL_NODE_PARAMS const& batch_launcher::node_of(slot_address task) {
  slot const& one = parts_.tasks.at(task);
  if (one.shared_bytes != 0) [[unlikely]] {
    allow_shared_bytes(parts_.context.api(), parts_.kernels.kernels[one.kernel],
                       parts_.lanes.device(), one.shared_bytes);
  }
  return node_.fill(parts_.kernels.kernels[one.kernel], parts_.lanes.device(),
                    {{one.grid[0], one.grid[1], one.grid[2]},
                     {one.block[0], one.block[1], one.block[2]},
                     one.shared_bytes,
                     arguments_of(task)});
}

CUresult batch_launcher::fill(graph_template& carrier, std::uint32_t node, slot_address task) {
  if (!carrier.is_device_updated()) { return carrier.set(node, node_of(task)); }
  slot const& one = parts_.tasks.at(task);
  carrier.put(node, {one.grid[0], one.grid[1], one.grid[2]}, arguments_of(task));
  return CUDA_SUCCESS;
}

void batch_launcher::prepare(lane& lane, std::span<slot_address const> tasks,
                             batch_traits const& traits, prepared_batch& batch) {
  batch.status = CUDA_SUCCESS;
  batch.taken = 0;
  batch.batch_count = 0;
  batch.intact = true;
  batch.refused.clear();
  tasks = tasks.first(std::min<std::size_t>(tasks.size(), graph_template::max_size));
  std::uint32_t const size = template_size(static_cast<std::uint32_t>(tasks.size()));
  batch.carrier = take_device_updated(lane, tasks, traits, size);
  if (batch.carrier == nullptr) {
    try {
      template_pool::request const wanted{
          {size, std::min(traits.chains, size), traits.rows_per_completion},
          completion_for(traits, size),
          traits.device_wait.valid()};
      batch.carrier = &templates_.take(wanted, node_of(tasks[0]), lane.counter());
    } catch (driver_error const& why) {
      // Two causes are likely: the launch of the first task is invalid, or the driver has no memory
      // for a template.
      batch.status = static_cast<CUresult>(why.status());
      return;
    }
  }
  batch.batch_count = batch.carrier->completions();
  for (std::uint32_t i = 0; i < batch.batch_count; ++i) { batch.batches[i] = &lane.begin(); }
  batch.taken = std::min(size, static_cast<std::uint32_t>(tasks.size()));
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i < batch.taken) {
      CUresult const answer = fill(*batch.carrier, i, tasks[i]);
      if (answer == CUDA_SUCCESS) {
        lane::batch& part = *batch.batches[batch.carrier->completion_of(i)];
        part.tasks[part.count++] = tasks[i];
        continue;
      }
      batch.refused.push_back({tasks[i], answer});
      // On an H200, a graph whose update failed for lack of device memory faults when it is used
      // again (FullDevice.ALaunchWithoutRoomForItsLocalMemoryFailsAlone).
      if (answer == CUDA_ERROR_OUT_OF_MEMORY) { batch.intact = false; }
      if (traits.ordered) { batch.taken = i + 1; }  // later tasks may depend on this task
    }
    // The node still holds an earlier task. Disable the node, or that task would run again.
    batch.intact = batch.carrier->disable(i) == CUDA_SUCCESS && batch.intact;
  }
}

CUresult batch_launcher::launch(lane& lane, batch_traits const& traits, prepared_batch& batch) {
  graph_template& carrier = *batch.carrier;
  CUresult answer = batch.intact ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  if (answer == CUDA_SUCCESS && carrier.waits_on_device()) {
    end_mark const mark = traits.device_wait;
    answer =
        carrier.set_wait({parts_.board.page(mark.device()).device_address(mark.lane()),
                          mark.number(), parts_.board.page(parts_.lanes.device()).stop_address()});
  }
  if (answer == CUDA_SUCCESS) {
    answer = carrier.launch(lane.stream(), lane.counter(), batch.batches[0]->number);
  }
  if (answer != CUDA_SUCCESS) {
    lane.cancel();
    if (carrier.is_device_updated()) { device_updated_.note_refusal(carrier); }
    // A template that is not intact is never used again.
    if (batch.intact) { give_back(carrier); }
    return answer;
  }
  lane.commit();
  batch.all().back()->carrier = &carrier;
  for (lane::batch* const part : batch.all()) {
    part->long_running = traits.long_running;
    // Only the first of these batches counts as waiting: when it has ended, the graph's wait is
    // over.
    part->waits_on_device = carrier.waits_on_device() && part == batch.all().front();
  }
  return answer;
}

void batch_launcher::give_back(graph_template& unused) noexcept {
  unused.is_device_updated() ? device_updated_.give_back(unused) : templates_.give_back(unused);
}

bool batch_launcher::has_attributes(slot_address task) const noexcept {
  return parts_.tasks.at(task).attributed &&
         parts_.tasks.side(task).attributes != launch_attributes{};
}

char const* batch_launcher::direct_entry(slot_address task) const noexcept {
  return has_attributes(task) ? "cuLaunchKernelEx" : "cuLaunchKernel";
}

CUresult batch_launcher::launch_direct(lane const& lane, lane::batch& batch, slot_address task) {
  if (parts_.tasks.at(task).attributed) [[unlikely]] {
    slot_side const& side = parts_.tasks.side(task);
    if (side.status_offset != slot_side::no_status) { pass_status(lane, batch, task); }
    if (has_attributes(task)) {
      return launch_with_attributes(parts_.context.api(), lane.stream(), node_of(task),
                                    side.attributes);
    }
  }
  CUDA_KERNEL_NODE_PARAMS const& node = node_of(task);
  return parts_.context.api().launch_kernel(
      node.func, node.gridDimX, node.gridDimY, node.gridDimZ, node.blockDimX, node.blockDimY,
      node.blockDimZ, node.sharedMemBytes, lane.stream(), node.kernelParams, nullptr);
}

void batch_launcher::pass_status(lane const& lane, lane::batch& batch, slot_address task) {
  batch.has_status = true;
  CUdeviceptr const word =
      parts_.board.page_of(parts_.lanes.device()).clear_status(lane.index(), batch.number);
  slot& one = parts_.tasks.at(task);
  slot_side& side = parts_.tasks.side(task);
  std::byte* const arguments = one.large ? side.arguments.get() : one.bytes;
  std::memcpy(arguments + side.status_offset, &word, sizeof word);
}

}  // namespace flotilla::dispatch
