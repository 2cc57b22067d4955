// From "this launch may go" to a batch: which lane, and what goes together.
#include <algorithm>
#include <bit>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"

namespace flotilla::dispatch {

namespace {
// What is to run behind a lane's last batch would only wait elsewhere.
constexpr std::size_t batches_behind = lane::most_batches - device_queue::most_of_a_stage;
}  // namespace

kernel_pace& device_queue::pace_of(std::uint32_t kernel) {
  if (kernel >= driving_.paces.size()) { driving_.paces.resize(owner.table.kernels.size()); }
  return driving_.paces[kernel];
}

unsigned device_queue::emptiest_lane(batch_shape const& shape, urgency level) const noexcept {
  lane_range const of = lane_plan::launches_of(level);
  unsigned const lanes = std::min({of.count, static_cast<unsigned>(shape.lanes), lanes_});
  // Streams share hardware connections, a process has eight, and what waits in one behind something else keeps all of its
  // connection waiting, whatever their priorities: once there are urgent lanes, what waits for nothing waits behind no batch
  // either.
  // With fewer lanes than the kernel wants one batch in each is too little to be at work while the next is on its way.
  std::uint32_t const enough = lanes < shape.lanes ? std::max(2u, shape.batches) : shape.batches;
  std::size_t const most = level == 0 && driving_.has_urgent_lanes ? 1 : enough;
  unsigned best = no_lane;
  // The next in turn where they are even; of an urgent level the same again, for the others may have no stream yet.
  unsigned const first = driving_.filling[level] - of.first + (level == 0 ? 1 : 0);
  for (unsigned i = 0; i < lanes; ++i) {
    unsigned const candidate = of.first + (first + i) % lanes;
    std::size_t const busy = driving_.lanes[candidate]->in_flight();
    if (busy >= most || driving_.stages[candidate].count != 0) { continue; }
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
    std::uint32_t const most = std::min(with.most_in_chain, shape.most_in_chain);
    if (!alone && waits.empty() && with.count < most && lane_plan::level_of(follows) == of.level) {
      with.most = with.most_in_chain = most;
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
  if (!alone && worth_awaiting_later(of, waits)) {
    driving_.kept = true;
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
      with.most_in_chain = std::min(current.most_in_chain, chain_of(shape));
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
  end_mark const awaited = alone ? end_mark{} : to_await(waits, pace_of(of.kernel));
  if (!put_behind(waits, on, address, awaited)) { return; }
  if (alone) {
    launch_plain(address, on);
    return;
  }
  launch_stage& fresh = driving_.stages[lane_number];
  fresh.most = most_of(shape);
  fresh.width = shape.width;
  fresh.most_in_chain = chain_of(shape);
  fresh.run = shape.run;
  fresh.kernel = of.kernel;
  fresh.awaited = awaited;
  if (awaited.launched()) { ++driving_.awaiting; }  // from here on, so that one pass cannot stage more than there may be
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
  launch_stage gone = stage;
  stage.count = 0;
  stage.awaited = {};  // an empty stage may be launched again, and awaits nothing
  if (gone.awaited.launched()) { --driving_.awaiting; }  // what is launched counts itself
  std::span<slot_address const> left{gone.tasks.data(), gone.count};
  while (!left.empty() && !owner.is_poisoned()) {
    bool refused = false;
    left = left.subspan(launch_piece(*driving_.lanes[lane_number], left, gone, refused));
    gone.awaited = {};  // what is left comes behind it in the stream; what was refused is looked at anew
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

}  // namespace flotilla::dispatch
