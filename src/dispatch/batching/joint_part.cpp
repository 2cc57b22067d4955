// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/joint_part.hpp"

#include <flotilla/error/driver_status.hpp>

#include "dispatch/batching/launch_begin.hpp"
#include "dispatch/task/cancellation.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

bool joint_part::may_run_in(unsigned lane) const noexcept {
  if (!last_.last.valid() || last_.last.lane() == lane) { return true; }
  dispatch::lane const& used = parts_.lanes[last_.last.lane()];
  return used.in_flight() == 0 || used.in_flight(0).number > last_.last.number();
}

bool joint_part::is_last_in_lane() const noexcept {
  return last_.id != 0 && parts_.lanes[last_.last.lane()].last_number() == last_.last.number();
}

end_mark joint_part::end_before(unsigned lane, bool follows) const noexcept {
  std::uint64_t const number = follows ? last_.first_number - 1 : parts_.lanes[lane].last_number();
  return number == 0 ? end_mark{} : end_mark::of(parts_.lanes.device(), lane, number);
}

ordered_part joint_part::begin() noexcept {
  lane const& lane = parts_.lanes[run_.batches().front().lane];
  is_prepared_ = false;
  // A wait ahead of a task that was not launched: the others could not wait for it too.
  if (!lane.has_room(run_.waves()) || lane.has_open_waits) { return {}; }
  grid_order& order = run_.order();
  if (begin_launches(parts_.tasks, order.tasks()) || !parts_.ordered.begin()) {
    give_up_launches();
    return {};
  }
  order.set_ends(parts_.ordered.words().launches);
  return {&order, &parts_.ordered.words()};
}

bool joint_part::prepare(ordered_parts const& others, flush_outcome& outcome) {
  batch_place const first = run_.batches().front();
  lane& lane = parts_.lanes[first.lane];
  CUresult answer = parts_.flusher.enqueue_waits(lane, parts_.waves.at(first)).status;
  batch_traits traits = run_.close();
  traits.prompt = parts_.lanes.is_prompt() && parts_.waves.device_waits() == 0;
  if (answer != CUDA_SUCCESS) {
    parts_.ordered.give_back();
  } else {
    answer = parts_.ordered.prepare(lane, others.together[parts_.lanes.device()], others, traits);
  }
  is_prepared_ = answer == CUDA_SUCCESS;
  if (!is_prepared_) { refuse(answer, outcome); }
  return is_prepared_;
}

bool joint_part::start(flush_outcome& outcome) {
  CUresult const answer = parts_.ordered.start();
  if (answer != CUDA_SUCCESS) { refuse(answer, outcome); }
  return answer == CUDA_SUCCESS;
}

void joint_part::refuse(CUresult status, flush_outcome& outcome) {
  outcome.lost = outcome.lost || is_sticky(driver::status_of(status));
  outcome.errors.push_back(status);
  parts_.flusher.start_again(run_.order().tasks(), outcome);
}

void joint_part::commit(std::uint64_t id, bool runs, flush_outcome& outcome) {
  grid_order& order = run_.order();
  lane const& lane = parts_.lanes[run_.batches().front().lane];
  last_.id = runs ? id : 0;
  last_.first_number = lane.last_number() + 1;
  last_.grid = {&order, &parts_.ordered.words()};
  parts_.flusher.note_ordered(run_.batches(), parts_.tasks.at(order.tasks()[0]).kernel,
                              parts_.ordered.commit(runs));
  last_.last = end_mark::of(parts_.lanes.device(), lane.index(), lane.last_number());
  if (!runs) { parts_.flusher.start_again(order.tasks(), outcome); }
  run_.keep_order();
}

void joint_part::give_up() noexcept {
  give_up_launches();
  parts_.ordered.give_back();
}

void joint_part::abandon(flush_outcome& outcome) {
  if (is_prepared_) {
    parts_.ordered.cancel();
  } else {
    parts_.ordered.give_back();
    run_.close();
  }
  parts_.flusher.start_again(run_.order().tasks(), outcome);
}

void joint_part::give_up_launches() noexcept {
  for (slot_address const task : run_.order().tasks()) { give_up_launch(parts_.tasks.at(task)); }
}

}  // namespace flotilla::dispatch
