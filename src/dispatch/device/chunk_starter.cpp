// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/chunk_starter.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/driver_status.hpp>

#include "base/single_writer.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/chunk_command.hpp"
#include "dispatch/trace/nvtx_range.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// Chunks use at most this many lanes, with at most this many batches in each. That keeps a device
// busy until the next pass, and leaves room for other tasks.
constexpr unsigned max_lanes = 8;
constexpr unsigned max_batches = 2;

}  // namespace

chunk_starter::chunk_starter(parts const& with) noexcept : parts_(with) {
  for (unsigned level = 0; level < priority_levels; ++level) {
    last_lane_[level] = lane_layout::launch_lanes_of(static_cast<priority_level>(level)).first;
  }
}

unsigned chunk_starter::find_lane(priority_level level, std::vector<end_mark> const& waits) {
  lane_range const range = lane_layout::launch_lanes_of(level);
  // Directly behind a predecessor, the stream keeps the order at no cost.
  for (end_mark const mark : waits) {
    bool const is_here = mark.device() == parts_.lanes.device() && range.contains(mark.lane()) &&
                         !parts_.waves.is_open({0, mark.lane()});
    if (!is_here) { continue; }
    lane const& one = parts_.lanes[mark.lane()];
    bool const takes = one.in_flight() < max_batches && one.has_room();
    if (one.last_number() == mark.number() && takes) { return mark.lane(); }
  }
  return parts_.lanes.find_lane(
      {level, max_lanes, max_batches, parts_.waves.lanes(), last_lane_[level]});
}

bool chunk_starter::start(slot_address chunk, std::vector<end_mark> const& waits) {
  slot& task = parts_.shared.tasks.at(chunk);
  if (!parts_.lanes.has_room(task.level)) { return false; }
  unsigned const lane = find_lane(task.level, waits);
  if (lane == lane_layout::no_lane) { return false; }
  last_lane_[task.level] = lane;
  if (cancelled_before_launch(task)) [[unlikely]] {
    parts_.reporter.cancel(chunk);
    return true;
  }
  if (auto const waited = parts_.lanes.enqueue_waits(parts_.lanes[lane], waits); !waited.ok()) {
    parts_.reporter.refuse(chunk, waited);
    return true;
  }
  launch(chunk, parts_.lanes[lane]);
  return true;
}

CUresult chunk_starter::launch_grids(slot_address chunk, lane& lane,
                                     chunk_launcher::chunk_records const& records,
                                     std::uint32_t& launched) {
  slot& task = parts_.shared.tasks.at(chunk);
  std::uint32_t const items = items_of(task);
  float const kernel_ns = parts_.profiles.of(task.kernel).kernel_ns();
  // A kernel that was never measured may be long.
  float const assumed_ns = kernel_ns == 0 ? grid_limits::max_grid_ns : kernel_ns;
  std::uint32_t grids = 0;
  auto const launch = [&] {
    CUresult answer = CUDA_SUCCESS;
    while (launched < items && answer == CUDA_SUCCESS) {
      std::uint32_t const count = parts_.grids.count_of_items(chunk, records, launched, assumed_ns);
      answer = parts_.grids.launch_items(lane, chunk, records, launched, count);
      if (answer == CUDA_SUCCESS) {
        launched += count;
        ++grids;
      }
    }
    return answer;
  };
  auto const describe = [&](kernel_timer::sample& sample) {
    bool const in_turn = parts_.sampler.runs_in_turn();
    // The grids run one after another, and so do the blocks that find no room at first.
    sample.depth = in_turn ? 1 : std::max(grids, parts_.grids.rounds_of(chunk));
    // A CPU device runs the items one after another.
    if (in_turn) { sample.chains = items; }
    sample.completions = 1;
    sample.number = lane.last_number() + 1;
    sample.ahead = lane.in_flight() - 1;
  };
  CUresult const answer = parts_.sampler.measured(lane, task.kernel, items, launch, describe);
  base::add(launched_, grids);
  return answer;
}

void chunk_starter::launch_items(slot_address chunk, lane& lane,
                                 chunk_launcher::chunk_records const& records,
                                 std::uint32_t& launched) {
  chunk_command const& what = held_in<chunk_command>(parts_.shared.tasks.at(chunk));
  for (std::uint32_t item = launched; item < what.count && !is_lost(); ++item) {
    CUresult const answer =
        parts_.launcher.launch_item(lane, chunk, records.host + std::uint64_t{item} * what.stride);
    if (answer == CUDA_SUCCESS) {
      base::add(launched_);
      ++launched;
    } else {
      errors_.push_back(answer);
      refused_.push_back({item, answer});
    }
  }
}

void chunk_starter::launch(slot_address chunk, lane& lane) {
  nvtx_range const range{[&] { return parts_.reporter.describe(chunk); }};
  slot& task = parts_.shared.tasks.at(chunk);
  chunk_memory const& memory = parts_.shared.chunks[chunk >> 16];
  chunk_command const& what = held_in<chunk_command>(task);
  chunk_launcher::chunk_records const records{memory.host(what.piece), memory.device(what.piece)};
  batch_traits const traits{.long_running = parts_.profiles.of(task.kernel).long_running(),
                            .prompt = parts_.lanes.is_prompt() && parts_.waves.device_waits() == 0};
  lane::batch& batch = lane.begin();
  batch.is_chunk = true;
  batch.long_running = traits.long_running;
  refused_.clear();
  errors_.clear();
  std::uint32_t launched = 0;
  parts_.grids.number_blocks(chunk, records);
  if (CUresult const answer = launch_grids(chunk, lane, records, launched);
      answer != CUDA_SUCCESS) {
    errors_.push_back(answer);
  }
  launch_items(chunk, lane, records, launched);
  if (launched == 0) {
    lane.cancel();
  } else {
    batch.tasks[batch.count++] = chunk;
    if (CUresult const written = parts_.grids.complete(lane, traits); written != CUDA_SUCCESS) {
      errors_.push_back(written);
    }
    parts_.lanes.add(lane, batch);
    parts_.profiles.note_launched(task.kernel, batch.begun);
    parts_.shared.order.mark_launched(
        {&chunk, 1}, end_mark::of(parts_.lanes.device(), lane.index(), batch.number));
  }
  // Report errors only now: if one is a fault, the items of this chunk are suspects. After a sticky
  // error the chunk stays open, because every open task counts as ended.
  for (CUresult const error : errors_) { parts_.reporter.note(error); }
  if (is_lost()) {
    if (launched == 0 && parts_.reporter.is_device_lost()) { parts_.reporter.keep(chunk); }
    return;
  }
  if (!refused_.empty()) { note_refused(chunk); }
}

bool chunk_starter::is_lost() const noexcept {
  return !errors_.empty() && is_sticky(driver::status_of(errors_.back()));
}

void chunk_starter::note_refused(slot_address chunk) {
  refusal const& first = refused_.front();
  auto why = parts_.reporter.failure_of_item(chunk, first.item, {first.why, "cuLaunchKernel"});
  slot& task = parts_.shared.tasks.at(chunk);
  // If every item was refused, the chunk fails. Otherwise it ends when the other items have ended.
  if (refused_.size() == held_in<chunk_command>(task).count) {
    return parts_.reporter.abandon(chunk, std::move(why));
  }
  // Only the failed item with the smallest index is reported.
  slot_side& side = parts_.shared.tasks.side(chunk);
  side.counted_in->note_failure(side.index_in_bulk + first.item, std::move(why));
  parts_.shared.ends.count_failed(parts_.lanes.device(), refused_.size());
}

}  // namespace flotilla::dispatch
