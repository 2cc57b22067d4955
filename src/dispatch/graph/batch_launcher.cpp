// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/batch_launcher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/error/error.hpp>

#include "dispatch/graph/graph_memory.hpp"
#include "dispatch/graph/launch_attributes.hpp"

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
    : parts_(with), templates_(with.context), slabs_(with.context) {}

void batch_launcher::create(CUstream idle_stream, builtin_functions const* replacements) {
  builtins_.create(parts_.context);
  if (functions().completion != nullptr) {
    reserve_graph_memory(parts_.context, functions().completion, idle_stream);
  }
  if (replacements != nullptr) { builtins_.use(*replacements); }
  templates_.use(functions().entry, functions().spin);
  slabs_.begin();
}

void batch_launcher::destroy() noexcept {
  templates_.destroy();
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

std::byte const* batch_launcher::arguments_of(slot_address task) const noexcept {
  slot const& one = parts_.tasks.at(task);
  return one.large ? parts_.tasks.side(task).arguments.get() : one.bytes;
}

CUDA_KERNEL_NODE_PARAMS const& batch_launcher::node_of(slot const& form,
                                                       std::array<std::uint32_t, 3> const& grid,
                                                       std::byte const* arguments) {
  if (form.shared_bytes != 0) [[unlikely]] {
    allow_shared_bytes(parts_.context.api(), parts_.kernels.kernels[form.kernel],
                       parts_.lanes.device(), form.shared_bytes);
  }
  return node_.fill(
      parts_.kernels.kernels[form.kernel], parts_.lanes.device(),
      {grid, {form.block[0], form.block[1], form.block[2]}, form.shared_bytes, arguments});
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
  try {
    template_pool::request const wanted{
        {size, std::min(traits.chains, size), traits.rows_per_completion},
        completion_for(traits, size),
        traits.device_wait.valid()};
    batch.carrier = &templates_.take(wanted, node_of(tasks[0]), lane.counter());
  } catch (driver_error const& why) {
    // Two causes are likely: the launch of the first task is invalid, or the driver has no memory
    // for a template.
    batch.carrier = nullptr;
    batch.status = static_cast<CUresult>(why.status());
    return;
  }
  batch.batch_count = batch.carrier->completions();
  for (std::uint32_t i = 0; i < batch.batch_count; ++i) { batch.batches[i] = &lane.begin(); }
  batch.taken = std::min(size, static_cast<std::uint32_t>(tasks.size()));
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i < batch.taken) {
      CUresult const answer = batch.carrier->set(i, node_of(tasks[i]));
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

CUresult batch_launcher::set_wait(graph_template& carrier, end_mark mark) const noexcept {
  return carrier.set_wait({parts_.board.page(mark.device()).device_address(mark.lane()),
                           mark.number(), stop_address()});
}

CUdeviceptr batch_launcher::stop_address() const noexcept {
  return parts_.board.page(parts_.lanes.device()).stop_address();
}

CUresult batch_launcher::launch(lane& lane, batch_traits const& traits, prepared_batch& batch) {
  graph_template& carrier = *batch.carrier;
  CUresult answer = batch.intact ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  if (answer == CUDA_SUCCESS && carrier.waits_on_device()) {
    answer = set_wait(carrier, traits.device_wait);
  }
  if (answer == CUDA_SUCCESS) {
    answer = carrier.launch(lane.stream(), lane.counter(), batch.batches[0]->number);
  }
  if (answer != CUDA_SUCCESS) {
    lane.cancel();
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
  return launch_node(lane, node_of(task));
}

CUresult batch_launcher::launch_item(lane const& lane, slot_address chunk,
                                     std::byte const* record) {
  detail::twin_record head;
  std::memcpy(&head, record, sizeof head);
  return launch_node(lane, node_of(parts_.tasks.at(chunk), head.grid, record + sizeof head));
}

CUresult batch_launcher::launch_node(lane const& lane, CUDA_KERNEL_NODE_PARAMS const& node) const {
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
