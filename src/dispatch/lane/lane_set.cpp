// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/lane_set.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

lane_set::lane_set(context::context_handle const& context, completion_page& page,
                   completion_board const& board, unsigned device, unsigned launch_lanes,
                   bool watches_waits)
    : context_(context),
      board_(board),
      device_(device),
      launch_lanes_(launch_lanes),
      is_gpu_(context.where().kind == device_kind::gpu),
      watches_waits_(watches_waits),
      blocking_events_(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) {
  for (unsigned i = 0; i < lane_layout::all_lanes; ++i) {
    lanes_.push_back(std::make_unique<lane>(context, page, waits_.emplace_back(context), i));
  }
  try {
    // Urgent lanes are opened at their first use, because few programs have tasks of all levels.
    for (unsigned i = 0; i < lane_layout::all_lanes; ++i) {
      if (lane_layout::level_of(i) != 0) { continue; }
      driver::check(lanes_[i]->open(priority_of(0)), "cuStreamCreateWithPriority",
                    context.subject());
    }
  } catch (...) {
    destroy();
    throw;
  }
}

void lane_set::destroy() noexcept {
  blocking_events_.destroy();
  for (wait_events& each : waits_) { each.destroy(); }
  for (auto const& lane : lanes_) { lane->destroy(); }
}

driver::call_outcome lane_set::enqueue_waits(lane& lane, std::span<end_mark const> marks,
                                             end_mark except) {
  priority_level const level = lane_layout::level_of(lane.index());
  if (CUresult const answer = lane.open(priority_of(level)); answer != CUDA_SUCCESS) {
    return {answer, "cuStreamCreateWithPriority"};
  }
  if (level != 0 && is_gpu_ && lane_layout::takes_launches(lane.index())) {
    has_urgent_launches_ = true;
  }
  bool must_note = watches_waits_ && lane.in_flight() != 0 &&
                   !lane_layout::takes_callables(lane.index());  // it would break a capture
  for (end_mark const mark : marks) {
    bool const same_lane = mark.device() == device_ && mark.lane() == lane.index();
    if (same_lane || board_.reached(mark)) { continue; }
    if (std::exchange(must_note, false)) [[unlikely]] {
      waits_[lane.index()].record(lane.stream(), lane.last_number(),
                                  board_.page(device_).number(lane.index()));
    }
    if (mark.word == except.word) { continue; }  // a kernel of the batch waits
    lane.has_open_waits = true;
    driver::call_outcome const answer = board_.enqueue_wait(lane.stream(), mark);
    if (!answer.ok()) { return answer; }
  }
  return {};
}

unsigned lane_set::find_lane(choice const& wanted) const noexcept {
  lane_range const range = lane_layout::launch_lanes_of(wanted.level);
  unsigned const lanes = std::min({range.count, wanted.lanes, launch_lanes_});
  // If the device has fewer lanes than the caller wants, allow at least two batches per lane. With
  // one batch per lane, so few lanes would not keep the device busy until the next pass.
  unsigned const enough = lanes < wanted.lanes ? std::max(2u, wanted.batches) : wanted.batches;
  // All streams of a process share eight hardware connections. A stream that waits blocks the other
  // streams on its connection, whatever their priorities. So once a GPU has had an urgent launch,
  // each lane of level 0 has at most one batch in flight.
  std::size_t const max = wanted.level == 0 && has_urgent_launches_ ? 1 : enough;
  // Among equally busy lanes, level 0 takes the lanes in turn. A higher level takes the lane that
  // it chose last, because its other lanes may have no stream yet.
  unsigned const first = wanted.after - range.first + (wanted.level == 0 ? 1 : 0);
  unsigned best = lane_layout::no_lane;
  for (unsigned i = 0; i < lanes; ++i) {
    unsigned const candidate = range.first + (first + i) % lanes;
    std::size_t const in_flight = lanes_[candidate]->in_flight();
    if (in_flight >= max || (wanted.excluded >> candidate & 1) != 0 ||
        !lanes_[candidate]->has_room()) {
      continue;
    }
    if (best == lane_layout::no_lane || in_flight < lanes_[best]->in_flight()) { best = candidate; }
    if (in_flight == 0) { break; }
  }
  return best;
}

void lane_set::add(lane const& lane, lane::batch const& batch) noexcept {
  counts_.add(lane, batch);
  set_busy(lane);
}

bool lane_set::any_done() {
  return !busy_.visit([&](unsigned lane) { return lanes_[lane]->done() == nullptr; });
}

bool lane_set::any_ended() const noexcept {
  return has_batches() && std::any_of(lanes_.begin(), lanes_.end(), [this](auto const& each) {
           std::uint64_t const oldest = each->oldest_number();
           return oldest != lane::no_number &&
                  board_.reached(end_mark::of(device_, each->index(), oldest));
         });
}

CUresult lane_set::sleep_until_done(unsigned lane) {
  return blocking_events_.with([&](CUevent event) {
    CUresult const recorded = context_.api().event_record(event, lanes_[lane]->stream());
    return recorded != CUDA_SUCCESS ? recorded : context_.api().event_synchronize(event);
  });
}

}  // namespace flotilla::dispatch
