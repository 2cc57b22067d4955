// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/staged_copies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/error/error.hpp>

#include "context/host_memory.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void staged_copies::add(slot_address task, detail::memory_command const& what,
                        std::span<end_mark const> waits) {
  copies_.push_back({.task = task, .what = what, .waits = {waits.begin(), waits.end()}});
}

bool staged_copies::progress(stop_predicate const& stop) {
  if (copies_.empty()) { return false; }
  yielded_ = !yielded_ && unnumbered_ == nullptr && is_device_wanted();
  // Another thread that wants the lease gets the lease now. If no thread wants the lease, the next
  // pass takes the new work.
  if (yielded_) { return !parts_.gate.wanted(); }
  // First empty the completed pieces, so that a piece is free for the next part of a copy.
  return write_number() || empty_pieces(stop) || end_failed() || issue_piece(stop);
}

bool staged_copies::write_number() {
  if (unnumbered_ == nullptr) { return false; }
  parts_.committer.finish(*std::exchange(unnumbered_, nullptr));
  return true;
}

std::size_t staged_copies::copy_while_unwanted(std::byte* to, std::byte const* from,
                                               std::size_t bytes,
                                               stop_predicate const& stop) const {
  std::size_t copied = 0;
  do {
    std::size_t const step = std::min(step_bytes, bytes - copied);
    std::memcpy(to + copied, from + copied, step);
    copied += step;
  } while (copied < bytes && !is_device_wanted() && !(stop && stop()));
  return copied;
}

bool staged_copies::empty_pieces(stop_predicate const& stop) {
  for (piece& one : ring_) {
    if (!one.busy || parts_.page.number(one.lane) < one.number) { continue; }
    auto const owner = std::find_if(copies_.begin(), copies_.end(),
                                    [&](copy const& each) { return each.task == one.task; });
    if (one.to == nullptr || owner == copies_.end() || owner->why != nullptr) {
      one.busy = false;
      one.to = nullptr;
      continue;
    }
    std::size_t const from = one.copied_out;
    one.copied_out += copy_while_unwanted(one.to + from, one.memory + from, one.bytes - from, stop);
    if (one.copied_out < one.bytes) { return true; }
    one.busy = false;
    one.to = nullptr;
    owner->done += one.bytes;
    if (owner->done == owner->what.bytes) {
      slot_address const task = owner->task;
      copies_.erase(owner);
      parts_.shared.ends.end(task, nullptr);
    }
    return true;
  }
  return false;
}

bool staged_copies::may_go_on(copy& waiting) const noexcept {
  if (waiting.what.kind != memory_op_kind::host_to_device) { return true; }
  std::erase_if(waiting.waits, [this](end_mark mark) { return parts_.shared.board.reached(mark); });
  return waiting.waits.empty();
}

std::deque<staged_copies::copy>::iterator staged_copies::next_copy() {
  auto const level_of = [this](copy const& each) {
    return parts_.shared.tasks.at(each.task).level;
  };
  auto next = copies_.end();
  for (auto candidate = copies_.begin(); candidate != copies_.end(); ++candidate) {
    bool const is_first = next == copies_.end() || level_of(*candidate) > level_of(*next);
    bool const has_bytes = candidate->why == nullptr && candidate->issued < candidate->what.bytes;
    if (is_first && has_bytes && may_go_on(*candidate)) { next = candidate; }
  }
  return next;
}

bool staged_copies::issue_piece(stop_predicate const& stop) {
  auto const next = next_copy();
  if (next == copies_.end()) { return false; }
  bool const is_upload = next->what.kind == memory_op_kind::host_to_device;
  lane& lane = parts_.lanes[is_upload ? lane_layout::upload_lane : lane_layout::download_lane];
  if (!lane.has_room()) { return false; }
  piece* const free = free_piece();
  if (free == nullptr) { return false; }
  driver::table const& api = parts_.context.api();
  std::size_t bytes = std::min(piece_bytes, next->what.bytes - next->issued);
  CUresult answer = CUDA_SUCCESS;
  if (is_upload) {
    auto const* const from = reinterpret_cast<std::byte const*>(next->what.from + next->issued);
    bytes = copy_while_unwanted(free->memory, from, bytes, stop);
    answer =
        api.memcpy_htod_async(next->what.to + next->issued, free->memory, bytes, lane.stream());
  } else {
    answer =
        api.memcpy_dtoh_async(free->memory, next->what.from + next->issued, bytes, lane.stream());
  }
  if (answer != CUDA_SUCCESS) {
    fail(*next, {answer, is_upload ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync"});
    return true;
  }
  lane::batch& batch = lane.begin();
  // From now on the device is busy, even before the completion write is enqueued (see
  // deferred_free).
  parts_.lanes.set_busy(lane);
  free->busy = true;
  free->lane = lane.index();
  free->number = batch.number;
  free->bytes = bytes;
  free->copied_out = 0;
  free->task = next->task;
  // Null for an upload: empty_pieces copies only pieces whose `to` is not null.
  free->to = is_upload ? nullptr : reinterpret_cast<std::byte*>(next->what.to + next->issued);
  next->issued += bytes;
  if (is_upload && next->issued == next->what.bytes) {
    // The whole upload is in the stream, so the completion number of this piece also marks the end
    // of the task.
    parts_.committer.launched(next->task, lane, batch);
    copies_.erase(next);
    return true;
  }
  unnumbered_ = &lane;
  return true;
}

CUresult staged_copies::allocate(piece& one) noexcept {
  void* memory = nullptr;
  CUresult const answer =
      context::allocate_pinned(parts_.context, memory, piece_bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (answer == CUDA_SUCCESS) { one.memory = static_cast<std::byte*>(memory); }
  return answer;
}

void staged_copies::create() {
  driver::check(allocate(ring_.front()), "cuMemHostAlloc", [&] {
    return std::to_string(piece_bytes) + " bytes of pinned host memory for copies, " +
           parts_.context.subject();
  });
}

staged_copies::piece* staged_copies::free_piece() {
  for (piece& one : ring_) {
    if (one.busy) { continue; }
    // `create` has allocated the first piece, so the copies can continue without this one.
    if (one.memory == nullptr && allocate(one) != CUDA_SUCCESS) { return nullptr; }
    return &one;
  }
  return nullptr;
}

void staged_copies::fail(copy& failed, driver::call_outcome why) {
  parts_.reporter.note(why.status);
  failed.why = make_failure(std::make_exception_ptr(driver_error(
      driver::status_of(why.status), why.call, parts_.reporter.describe(failed.task))));
}

void staged_copies::fail_all(std::shared_ptr<failure const> const& why) {
  for (copy& each : copies_) {
    if (each.why == nullptr) { each.why = why; }
  }
  while (write_number() || empty_pieces({}) || end_failed()) {}
}

bool staged_copies::end_failed() {
  // A failed copy must not end while one of its pieces is in flight: the device still uses the
  // buffer, and the buffer may be freed after the task.
  auto const ended = std::find_if(copies_.begin(), copies_.end(), [this](copy const& each) {
    return each.why != nullptr && std::none_of(ring_.begin(), ring_.end(), [&](piece const& one) {
             return one.busy && one.task == each.task;
           });
  });
  if (ended == copies_.end()) { return false; }
  copy const gone = std::move(*ended);
  copies_.erase(ended);
  parts_.shared.ends.end(gone.task, gone.why);
  return true;
}

void staged_copies::destroy() noexcept {
  for (piece& one : ring_) {
    if (one.memory != nullptr) {
      parts_.context.api().mem_free_host(std::exchange(one.memory, nullptr));
    }
  }
}

}  // namespace flotilla::dispatch
