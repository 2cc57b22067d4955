// From a batch of launches to its lane's stream: in templates, or plainly.
#include <algorithm>
#include <bit>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "dispatch/updatable.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {
// The template for the first of `tasks` tasks. Where a few nodes that do nothing save launches, one that has them:
// such a node costs a GPU what an empty kernel does, a launch costs this thread that of some ten nodes.
std::uint32_t template_size(std::uint32_t tasks) noexcept {
  std::uint32_t const above = std::bit_ceil(tasks);
  auto const saved = static_cast<std::uint32_t>(std::popcount(tasks)) - 1;
  return above - tasks <= 2 * saved ? above : std::bit_floor(tasks);
}
// Up to here a batch is somebody's few tasks, and what counts is when they are seen to end.
constexpr std::uint32_t few = 8;
}  // namespace

CUfunction device_queue::marker_for(launch_stage const& of, std::uint32_t size) const noexcept {
  // A memory operation is seen sooner, and waits for what else its connection has under way: where nothing takes long, and nothing
  // waits for another device (a hop between two takes 5.5 us then, and not 7).
  bool const soonest =
      size <= few && !of.lasting && driving_.lasting == 0 && !of.awaited.launched() && driving_.awaiting == 0;
  return soonest ? nullptr : own_kernels_.functions().marker;
}

bool device_queue::same_form(std::span<slot_address const> tasks) const noexcept {
  slot const& first = owner.at(tasks[0]);
  return std::all_of(tasks.begin(), tasks.end(), [&](slot_address const address) {
    slot const& each = owner.at(address);
    return std::equal(each.block, each.block + 3, first.block) && each.shared_bytes == first.shared_bytes &&
           is_valid_grid({each.grid[0], each.grid[1], each.grid[2]});
  });
}

graph_template* device_queue::updated_for(lane const& on, std::span<slot_address const> tasks, launch_stage const& of,
                                          std::uint32_t size) {
  std::uint32_t const fewest = of.lasting ? updated_templates::fewest_lasting : updated_templates::fewest_nodes;
  bool const worth_it = size >= fewest && !of.ordered && !of.awaited.launched();  // a chain takes the device longer anyway
  if (!worth_it || !updated_.usable() || of.kernel == launch_stage::no_kernel) { return nullptr; }
  std::uint32_t const bytes = owner.table.kernels[of.kernel].argument_bytes;
  if (bytes > node_record::most_argument_bytes || !same_form(tasks.first(std::min<std::size_t>(size, tasks.size())))) {
    return nullptr;
  }
  slot const& first = owner.at(tasks[0]);
  std::uint32_t const width = std::min(of.width, size);
  launch_form const form{{size, width, std::min(of.run, size / width)},
                         of.kernel,
                         {first.block[0], first.block[1], first.block[2]},
                         first.shared_bytes};
  auto const holds = [this, &tasks](std::uint32_t i) -> auto& { return parameters_of(tasks[i]); };
  return updated_.take(form, holds, bytes, on.counter(), marker_for(of, size), on.stream(), tasks.size() >= size,
                       driving_.busy == 0);
}

CUresult device_queue::fill(graph_template& by, std::uint32_t node, slot_address address) {
  if (!by.updated()) { return by.set(node, parameters_of(address)); }
  slot const& of = owner.at(address);
  by.put(node, {of.grid[0], of.grid[1], of.grid[2]}, of.large ? owner.side(address).arguments.get() : of.bytes);
  return CUDA_SUCCESS;
}

void device_queue::give_back(graph_template& done) noexcept {
  done.updated() ? updated_.give_back(done) : templates_.give_back(done);
}

CUDA_KERNEL_NODE_PARAMS const& device_queue::parameters_of(slot_address address) {
  slot& of = owner.at(address);
  kernel_entry const& kernel = owner.table.kernels[of.kernel];
  std::byte* const bytes = of.large ? owner.side(address).arguments.get() : of.bytes;
  std::vector<void*>& pointers = driving_.pointers;
  if (pointers.size() < kernel.parameters.size()) { pointers.resize(kernel.parameters.size()); }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) { pointers[i] = bytes + kernel.parameters[i].offset; }
  CUDA_KERNEL_NODE_PARAMS& made = driving_.parameters;
  made.func = kernel.functions[index];
  made.gridDimX = of.grid[0];
  made.gridDimY = of.grid[1];
  made.gridDimZ = of.grid[2];
  made.blockDimX = of.block[0];
  made.blockDimY = of.block[1];
  made.blockDimZ = of.block[2];
  made.sharedMemBytes = of.shared_bytes;
  made.kernelParams = pointers.data();
  return made;
}

std::size_t device_queue::launch_piece(lane& on, std::span<slot_address const> tasks, launch_stage const& of,
                                       bool& refused) {
  std::uint32_t const size = template_size(static_cast<std::uint32_t>(tasks.size()));
  graph_template* by = updated_for(on, tasks, of, size);
  if (by == nullptr) try {
    by = &templates_.take(size, std::min(of.width, size), of.run, parameters_of(tasks[0]), on.counter(),
                          marker_for(of, size), of.awaited.launched());
  } catch (driver_error const& why) {
    owner.note(static_cast<CUresult>(why.status()), *this);
    // Perhaps this launch is to blame, perhaps there is no memory for templates: alone it gets an answer of its own.
    launch_anew(tasks[0], on);
    refused = true;
    return 1;
  }
  if (of.kernel != launch_stage::no_kernel && size >= updated_templates::fewest_nodes) { pace_of(of.kernel).filled_in(by->updated()); }
  std::vector<refusal> bad;  // not scratch: who is launched singly may have others launched
  std::array<lane::batch*, template_pool::most_marks> parts;
  for (std::uint32_t i = 0; i < by->marks(); ++i) { parts[i] = &on.begin(); }
  std::uint32_t used = std::min(size, static_cast<std::uint32_t>(tasks.size()));
  bool whole = true;  // whether every node holds its task, or nothing
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i < used) {
      CUresult const answer = fill(*by, i, tasks[i]);
      if (answer == CUDA_SUCCESS) {
        lane::batch& part = *parts[by->mark_of(i)];
        part.tasks[part.count++] = tasks[i];
        continue;
      }
      bad.push_back({tasks[i], answer});
      if (of.ordered) { used = i + 1; }  // what may be behind it does not go with it
    }
    // It still holds an earlier task, which must not run again.
    whole = by->disable(i) == CUDA_SUCCESS && whole;
  }
  auto const ahead_of = [](graph_template const& made) {
    return made.updated() ? kernel_pace::an_update : made.rooted() ? kernel_pace::a_root : std::chrono::nanoseconds{0};
  };
  std::uint32_t const depth = (size + by->width() - 1) / by->width();
  bool const measured = of.kernel != launch_stage::no_kernel && !by->awaits() && pace_of(of.kernel).due(used) &&
                        probe_.begin(on.stream());
  auto const begun = measured ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
  std::span<lane::batch* const> const all{parts.data(), by->marks()};
  CUresult answer = whole ? await(*by, of.awaited) : CUDA_ERROR_UNKNOWN;
  if (answer == CUDA_SUCCESS) { answer = by->launch(on.stream(), on.counter(), all.front()->number); }
  if (answer == CUDA_SUCCESS) {
    if (measured) {
      std::uint64_t const launching =
          (driving_.busy | std::uint64_t{1} << on.index()) & lane_plan::all_that_take_launches;
      auto const busy = static_cast<std::uint32_t>(std::popcount(launching));
      probe_.end(on.stream(), {of.kernel, depth, busy * by->width(), by->marks(), on.index(), all.back()->number,
                               on.in_flight() - all.size(), begun,
                               std::chrono::steady_clock::now() - begun, ahead_of(*by)});
    }
    all.back()->by = by;
    on.finish_itself();
    bump(batches_);
    for (lane::batch* const part : all) {
      part->lasting = of.lasting;
      part->awaits = by->awaits() && part == all.front();  // behind its first mark nothing does any more
      launched_batch(on, *part);
    }
  } else {
    std::vector<slot_address> singly;
    for (lane::batch const* const part : all) {
      singly.insert(singly.end(), part->tasks.begin(), part->tasks.begin() + part->count);
    }
    on.cancel();
    if (by->updated()) { updated_.note_refusal(*by); }
    if (whole) { give_back(*by); }  // one that may hold earlier tasks is never used again
    if (whole) { owner.note(answer, *this); }
    for (slot_address const each : singly) { launch_anew(each, on); }
  }
  refused = !bad.empty() || answer != CUDA_SUCCESS;
  for (refusal const& each : bad) {
    // Named as what was asked for; which call carries a launch depends on what else goes with it.
    fail(each.task, each.status, "cuLaunchKernel (as cuGraphExecKernelNodeSetParams)");
  }
  return used;
}

void device_queue::launch_anew(slot_address address, lane& on) {
  slot& of = owner.at(address);
  if (of.dependencies != 0) {
    of.staged.store(0, std::memory_order_relaxed);
    std::vector<end_mark> waits;
    if (!resolve(address, waits, nullptr)) { return; }
    if (!put_behind(waits, on, address)) { return; }
  }
  launch_plain(address, on);
}

void device_queue::launch_plain(slot_address address, lane& on) {
  slot& of = owner.at(address);
  of.staged.store(0, std::memory_order_relaxed);
  if (!on.room()) {
    driving_.ready.of(of.level).push_back(address);
    return;
  }
  CUDA_KERNEL_NODE_PARAMS const& what = parameters_of(address);
  CUresult const answer = context.api().launch_kernel(what.func, what.gridDimX, what.gridDimY, what.gridDimZ,
                                                      what.blockDimX, what.blockDimY, what.blockDimZ,
                                                      what.sharedMemBytes, on.stream(), what.kernelParams, nullptr);
  if (answer != CUDA_SUCCESS) {
    fail(address, answer, "cuLaunchKernel");
    return;
  }
  lane::batch& batch = on.begin();
  batch.tasks[batch.count++] = address;
  owner.note(on.finish(), *this);
  bump(batches_);
  launched_batch(on, batch);
}

void device_queue::launched_batch(lane& on, lane::batch const& batch) {
  driving_.in_flight += batch.count;
  if (lane_plan::level_of(on.index()) != 0) { driving_.urgent_in_flight += batch.count; }
  if (batch.lasting) { ++driving_.lasting; }
  if (batch.awaits) { ++driving_.awaiting; }
  driving_.busy |= std::uint64_t{1} << on.index();
  // After this nobody may touch the slots but to end them.
  owner.launched({batch.tasks.data(), batch.count}, end_mark::of(index, on.index(), batch.number));
}

}  // namespace flotilla::dispatch
