// From "this launch may go" to "it is on a stream": which lane, which batch, which template.
#include <algorithm>
#include <bit>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {
// What is to run behind a lane's last batch would only wait elsewhere.
constexpr std::size_t batches_behind = lane::most_batches - device_queue::most_of_a_stage;

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
  // A memory operation is seen sooner, and waits for what else its connection has under way: where nothing takes long.
  bool const soonest = size <= few && !of.lasting && driving_.lasting == 0;
  return soonest ? nullptr : marker_.function();
}

kernel_pace& device_queue::pace_of(std::uint32_t kernel) {
  if (kernel >= driving_.paces.size()) { driving_.paces.resize(owner.table.kernels.size()); }
  return driving_.paces[kernel];
}

unsigned device_queue::emptiest_lane(batch_shape const& shape, urgency level) const noexcept {
  lane_range const of = lane_plan::launches_of(level);
  unsigned const lanes = std::min({of.count, static_cast<unsigned>(shape.lanes), lanes_});
  unsigned best = no_lane;
  for (unsigned i = 1; i <= lanes; ++i) {  // the next in turn where they are even
    unsigned const candidate = of.first + (driving_.filling[level] - of.first + i) % lanes;
    std::size_t const busy = driving_.lanes[candidate]->in_flight();
    if (busy >= shape.batches || driving_.stages[candidate].count != 0) { continue; }
    if (best == no_lane || busy < driving_.lanes[best]->in_flight()) { best = candidate; }
    if (busy == 0) { break; }
  }
  return best;
}

bool device_queue::joins_filling(slot const& of) const noexcept {
  launch_stage const& current = driving_.stages[driving_.filling[of.level]];
  return of.kind == task_kind::launch && of.dependencies == 0 && of.batch && current.count != 0 && !current.behind &&
         !current.ordered && of.kernel == current.kernel && may_launch(of.level);
}

void device_queue::start_launch(slot_address address, std::vector<end_mark> const& waits,
                                unsigned follows) {
  slot& of = owner.at(address);
  batch_shape const& shape = pace_of(of.kernel).shape();
  bool const alone = !of.batch || !templates_.usable();
  if (follows != no_lane) {
    // Behind a task that is staged, in its batch, order costs nothing. One chain, and no longer than is well.
    launch_stage& with = driving_.stages[follows];
    std::uint32_t const most = std::min(with.most / with.width, shape.most_when_full / shape.width);
    if (!alone && waits.empty() && with.count < most && lane_plan::level_of(follows) == of.level) {
      with.most = most;
      with.width = 1;
      with.run = std::min(with.run, shape.run);
      with.ordered = true;
      stage(address, follows);
    } else {
      launch_staged(follows);
      start_one(address);
    }
    return;
  }
  if (!may_launch(of.level)) {
    driving_.ready.of(of.level).push_back(address);
    return;
  }
  unsigned& filling = driving_.filling[of.level];
  unsigned lane_number = no_lane;
  if (!waits.empty()) {
    // Behind a predecessor, in its lane, order costs nothing either.
    for (end_mark const& each : waits) {
      bool const here = each.device() == index && lane_plan::is_in(each.lane(), lane_plan::launches_of(of.level));
      if (here) { lane_number = each.lane(); }
    }
    if (lane_number != no_lane) {
      launch_staged(lane_number);
      if (driving_.lanes[lane_number]->in_flight() >= batches_behind) { lane_number = no_lane; }
    }
  } else if (launch_stage const& current = driving_.stages[filling]; current.count != 0) {
    if (!alone && !current.behind && current.width == shape.width &&
        current.count < std::min(current.most, most_of(shape))) {
      launch_stage& with = driving_.stages[filling];
      with.most = std::min(current.most, most_of(shape));
      with.run = std::min(current.run, shape.run);
      stage(address, filling);
      return;
    }
    launch_staged(filling);
  }
  if (lane_number == no_lane) { lane_number = emptiest_lane(shape, of.level); }
  if (lane_number == no_lane) {
    driving_.ready.of(of.level).push_back(address);
    return;
  }
  lane& on = *driving_.lanes[lane_number];
  if (!put_behind(waits, on, address)) { return; }
  if (alone) {
    launch_plain(address, on);
    return;
  }
  launch_stage& fresh = driving_.stages[lane_number];
  fresh.most = most_of(shape);
  fresh.width = shape.width;
  fresh.run = shape.run;
  fresh.kernel = of.kernel;
  fresh.behind = !waits.empty();
  fresh.ordered = false;
  fresh.lasting = false;
  if (!fresh.behind) { filling = lane_number; }
  stage(address, lane_number);
}

void device_queue::stage(slot_address address, unsigned lane_number) {
  launch_stage& into = driving_.stages[lane_number];
  slot& of = owner.at(address);
  if (into.count == 0 || of.kernel != into.kernel) {
    into.lasting = into.lasting || pace_of(of.kernel).lasting();
    if (of.kernel != into.kernel) { into.kernel = launch_stage::no_kernel; }
  }
  of.staged.store(stage_mark::of(index, lane_number), std::memory_order_relaxed);  // only this thread reads it so
  into.tasks[into.count++] = address;
  driving_.staged |= std::uint64_t{1} << lane_number;
  owner.resume_successors(address, *this, driving_.resumed);
  if (into.count >= into.most) { launch_staged(lane_number); }
}

void device_queue::launch_all_staged() {
  launch_urgent_staged();
  while (driving_.staged != 0) {
    launch_staged(static_cast<unsigned>(std::countr_zero(driving_.staged)));
    start_resumed();
  }
}

void device_queue::launch_urgent_staged() {
  while (driving_.staged >> lane_plan::of_urgent != 0) {
    launch_staged(static_cast<unsigned>(std::bit_width(driving_.staged)) - 1);
    start_resumed();
  }
}

void device_queue::launch_staged(unsigned lane_number) {
  driving_.staged &= ~(std::uint64_t{1} << lane_number);
  launch_stage& stage = driving_.stages[lane_number];
  launch_stage const gone = stage;
  stage.count = 0;
  std::span<slot_address const> left{gone.tasks.data(), gone.count};
  while (!left.empty() && !owner.is_poisoned()) {
    bool refused = false;
    left = left.subspan(launch_piece(*driving_.lanes[lane_number], left, gone, refused));
    if (!refused || (!gone.ordered && driving_.lanes[lane_number]->room(most_of_a_stage))) { continue; }
    // What is left may have been behind what was refused, or finds no room behind what went singly: it is looked at anew. Not
    // here, where another task may be half looked at, but by whoever started that.
    for (std::size_t i = left.size(); i-- > 0;) {
      owner.at(left[i]).staged.store(0, std::memory_order_relaxed);
      driving_.resumed.push_back(left[i]);
    }
    return;
  }
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
  graph_template* by = nullptr;
  try {
    by = &templates_.take(size, std::min(of.width, size), of.run, parameters_of(tasks[0]), on.counter(),
                          marker_for(of, size));
  } catch (driver_error const& why) {
    owner.note(static_cast<CUresult>(why.status()), *this);
    // Perhaps this launch is to blame, perhaps there is no memory for templates: alone it gets an answer of its own.
    launch_anew(tasks[0], on);
    refused = true;
    return 1;
  }
  std::vector<refusal> bad;  // not scratch: who is launched singly may have others launched
  std::array<lane::batch*, template_pool::most_marks> parts;
  for (std::uint32_t i = 0; i < by->marks(); ++i) { parts[i] = &on.begin(); }
  std::uint32_t used = std::min(size, static_cast<std::uint32_t>(tasks.size()));
  bool whole = true;  // whether every node holds its task, or nothing
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i < used) {
      CUresult const answer = by->set(i, parameters_of(tasks[i]));
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
  std::uint32_t const depth = (size + by->width() - 1) / by->width();
  bool const measured = of.kernel != launch_stage::no_kernel && pace_of(of.kernel).due() && probe_.begin(on.stream());
  auto const begun = measured ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
  std::span<lane::batch* const> const all{parts.data(), by->marks()};
  CUresult const answer = whole ? by->launch(on.stream(), on.counter(), all.front()->number) : CUDA_ERROR_UNKNOWN;
  if (answer == CUDA_SUCCESS) {
    if (measured) {
      std::uint64_t const launching =
          (driving_.busy | std::uint64_t{1} << on.index()) & lane_plan::all_that_take_launches;
      auto const busy = static_cast<std::uint32_t>(std::popcount(launching));
      probe_.end(on.stream(), {of.kernel, depth, busy * by->width(), by->marks(), on.index(), all.back()->number,
                               on.in_flight() - all.size(), begun,
                               std::chrono::steady_clock::now() - begun});
    }
    all.back()->by = by;
    on.finish_itself();
    bump(batches_);
    for (lane::batch* const part : all) {
      part->lasting = of.lasting;
      launched_batch(on, *part);
    }
  } else {
    std::vector<slot_address> singly;
    for (lane::batch const* const part : all) {
      singly.insert(singly.end(), part->tasks.begin(), part->tasks.begin() + part->count);
    }
    on.cancel();
    if (whole) { templates_.give_back(*by); }  // one that may hold earlier tasks is never used again
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
  if (batch.lasting) { ++driving_.lasting; }
  driving_.busy |= std::uint64_t{1} << on.index();
  // After this nobody may touch the slots but to end them.
  owner.launched({batch.tasks.data(), batch.count}, end_mark::of(index, on.index(), batch.number));
}

}  // namespace flotilla::dispatch
