// Recorded tasks: from "build them" to a graph, and from "this replay may go" to "it is on a stream".
#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

std::shared_ptr<recorded_part> device_queue::build(planned_part const& plan,
                                                   std::span<recorded_action const> actions) {
  auto made = std::make_shared<recorded_part>(
    context, recorded_part::making{plan, actions, owner.table, driving_.lanes.front()->counter(), own_kernels_.functions(), records_, *page});
  // So that the first replay need not. A device that has no room for it now says so when it is launched.
  owner.note(made->upload(memory_stream_), *this);
  return made;
}

void device_queue::start_recorded(slot_address address, std::vector<end_mark> const& waits) {
  urgency const level = owner.at(address).level;
  unsigned lane_number = no_lane;
  if (may_launch(level)) {
    // Behind a predecessor, in its lane, order costs nothing. What is staged there is to have room as well.
    for (end_mark const& each : waits) {
      bool const here = each.device() == index && lane_plan::is_in(each.lane(), lane_plan::launches_of(level));
      if (here && driving_.lanes[each.lane()]->room(1 + most_of_a_stage)) { lane_number = each.lane(); }
    }
    if (lane_number == no_lane) { lane_number = emptiest_lane({.lanes = lanes_}, level); }
  }
  if (lane_number == no_lane) {
    driving_.ready.of(level).push_back(address);
    return;
  }
  lane& on = *driving_.lanes[lane_number];
  if (!put_behind(waits, on, address)) { return; }
  replayed_part& what = held_in<replayed_part>(owner.at(address));
  auto const part = owner.parts.get(what.part);
  if (auto const refused = part->rewrite(what.changes); refused.status != CUDA_SUCCESS) {
    owner.note(refused.status, *this);
    if (is_sticky(driver::status_of(refused.status))) { return; }  // as in `fail`
    drop_task(address, failure_of(refused.why != nullptr
                                    ? refused.why
                                    : std::make_exception_ptr(driver_error(driver::status_of(refused.status), refused.call,
                                                                           part->words(refused.kernel) + " in " + describe(address)))));
    return;
  }
  lane::batch& batch = on.begin();
  if (CUresult const answer = part->enqueue(on, batch.number); answer != CUDA_SUCCESS) {
    on.cancel();
    fail(address, answer, "cuGraphLaunch");  // and what it was to change is owed
    return;
  }
  if (what.changes != change_lists::none) { part->lists.give_back(std::exchange(what.changes, change_lists::none)); }
  batch.tasks[batch.count++] = address;
  on.finish_itself();
  launched_batch(on, batch);
}

}  // namespace flotilla::dispatch
