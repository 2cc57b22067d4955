// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/staged_copies.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/pause.hpp"
#include "context/host_memory.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

/// Frees the pieces that the host copies, after other threads have finished their steps.
void abandon_on_host(auto& pieces) noexcept {
  for (auto& one : pieces) {
    using states = decltype(one.state);
    if (one.state != states::host) { continue; }
    one.on_host.abandon();
    while (!one.on_host.is_finished()) { base::pause(); }  // other threads copy a step
    one.state = states::free;
  }
}

/// Returns whether new work was announced or another thread wants the lease. The answer may be out
/// of date.
bool is_device_wanted(staged_copies::parts const& of) noexcept {
  return of.inbound.is_announced() || of.gate.wanted();
}

}  // namespace

void staged_copies::add(slot_address task, detail::memory_command const& what,
                        std::span<end_mark const> waits) {
  if (parts_.shared.trace.active()) [[unlikely]] { parts_.shared.trace.note_begin(task); }
  copies_.push_back({.task = task, .what = what, .waits = {waits.begin(), waits.end()}});
}

bool staged_copies::progress(stop_predicate const& stop) {
  if (copies_.empty() || parts_.shared.faults.is_poisoned()) { return false; }
  yielded_ = !yielded_ && unnumbered_ == nullptr && is_device_wanted(parts_);
  // Another thread that wants the lease gets the lease now. If no thread wants the lease, the next
  // pass takes the new work.
  if (yielded_) { return !parts_.gate.wanted(); }
  // First empty the completed pieces, so that a piece is free for the next part of a copy.
  return write_number() || finish_on_host() || continue_on_host(stop) || begin_emptying(stop) ||
         end_failed() || begin_next(stop) ||
         // Other threads finish their steps soon.
         std::any_of(ring_.begin(), ring_.end(), [](piece const& one) {
           return one.state == piece::states::host && !one.on_host.is_finished();
         });
}

bool staged_copies::write_number() {
  if (unnumbered_ == nullptr) { return false; }
  parts_.committer.finish(*std::exchange(unnumbered_, nullptr));
  return true;
}

bool staged_copies::share(stop_predicate const& stop) noexcept {
  // On a poisoned driver every task counts as ended, so its memory may be gone.
  host_work::copying const here{parts_.shared.on_host};
  bool copied = false;
  while (!parts_.shared.faults.is_poisoned() &&
         // relaxed: shared_copy orders the accesses, and an old index only finds nothing to claim
         ring_[begun_last_.load(std::memory_order_relaxed)].on_host.copy_step()) {
    copied = true;
    if (stop && stop()) { break; }
  }
  return copied;
}

void staged_copies::begin(piece& one, detail::memory_command const& what,
                          stop_predicate const& stop) {
  one.state = piece::states::host;
  row_part rows;
  auto* const host = reinterpret_cast<std::byte*>(one.is_download ? what.to : what.from);
  if (what.is_pitched) { rows = host_side_of(what, one.at); }
  check_host_side(what, one.at, one.bytes);
  if (one.is_download) {
    one.on_host.begin(host + one.at, one.memory, one.bytes, rows, what.bytes >= min_streamed_bytes);
  } else {
    one.on_host.begin(one.memory, host + one.at, one.bytes, rows);
  }
  begun_last_.store(static_cast<std::size_t>(&one - ring_.data()), std::memory_order_relaxed);
  if (what.bytes >= min_bytes_for_helpers) { parts_.shared.bell.ring_for_copy(); }
  static_cast<void>(continue_on_host(stop));
}

bool staged_copies::continue_on_host(stop_predicate const& stop) {
  shared_copy& last = ring_[begun_last_.load(std::memory_order_relaxed)].on_host;
  host_work::copying const here{parts_.shared.on_host};
  bool copied = false;
  while (!parts_.shared.faults.is_poisoned() && last.copy_step()) {
    copied = true;
    if (is_device_wanted(parts_) || (stop && stop())) { return true; }
  }
  if (copied) { static_cast<void>(finish_on_host()); }
  return copied;
}

bool staged_copies::finish_on_host() {
  for (piece& one : ring_) {
    if (one.state != piece::states::host || !one.on_host.is_finished()) { continue; }
    auto const owner = find(one.task);
    if (owner->why != nullptr) {
      one.state = piece::states::free;
    } else if (one.is_download) {
      note_emptied(one);
    } else if (lane_of(*owner).has_room()) {
      issue(*owner, one);
    } else {
      continue;
    }
    return true;
  }
  return false;
}

bool staged_copies::begin_emptying(stop_predicate const& stop) {
  for (piece& one : ring_) {
    bool const is_done =
        one.state == piece::states::device && parts_.page.number(one.lane) >= one.number;
    if (!is_done) { continue; }
    auto const owner = one.is_download ? find(one.task) : copies_.end();
    if (owner == copies_.end() || owner->why != nullptr) {
      one.state = piece::states::free;
      continue;
    }
    begin(one, owner->what, stop);
    return true;
  }
  return false;
}

void staged_copies::note_emptied(piece& one) {
  one.state = piece::states::free;
  auto const owner = find(one.task);
  owner->done += one.bytes;
  if (owner->done < owner->what.bytes) { return; }
  slot_address const task = owner->task;
  copies_.erase(owner);
  parts_.shared.ends.end(task, nullptr);
}

std::deque<staged_copies::copy>::iterator staged_copies::find(slot_address task) {
  return std::find_if(copies_.begin(), copies_.end(),
                      [task](copy const& each) { return each.task == task; });
}

lane& staged_copies::lane_of(copy const& of) noexcept {
  bool const is_upload = of.what.kind == memory_op_kind::host_to_device;
  return parts_
      .lanes[is_upload ? lane_layout::staged_upload_lane : lane_layout::staged_download_lane];
}

bool staged_copies::is_ready(copy& waiting) const noexcept {
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
    bool const has_bytes = candidate->why == nullptr && candidate->begun < candidate->what.bytes;
    if (is_first && has_bytes && is_ready(*candidate)) { next = candidate; }
  }
  return next;
}

bool staged_copies::begin_next(stop_predicate const& stop) {
  auto const next = next_copy();
  if (next == copies_.end() || !lane_of(*next).has_room()) { return false; }
  bool const is_upload = next->what.kind == memory_op_kind::host_to_device;
  piece* const free = free_piece();
  if (free == nullptr) { return false; }
  free->task = next->task;
  free->is_download = !is_upload;
  free->at = next->begun;
  free->bytes = std::min(piece_bytes, next->what.bytes - next->begun);
  next->begun += free->bytes;
  if (!is_upload) {
    issue(*next, *free);
    return true;
  }
  begin(*free, next->what, stop);
  return true;
}

void staged_copies::issue(copy& owner, piece& one) {
  bool const is_upload = owner.what.kind == memory_op_kind::host_to_device;
  driver::table const& api = parts_.context.api();
  lane& lane = lane_of(owner);
  CUresult const answer =
      is_upload
          ? api.memcpy_htod_async(owner.what.to + one.at, one.memory, one.bytes, lane.stream())
          : api.memcpy_dtoh_async(one.memory, owner.what.from + one.at, one.bytes, lane.stream());
  if (answer != CUDA_SUCCESS) {
    one.state = piece::states::free;
    return fail(owner, {answer, is_upload ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync"});
  }
  lane::batch& batch = lane.begin();
  // From now on the device is busy, even before the completion write is enqueued (see
  // deferred_free).
  parts_.lanes.set_busy(lane);
  one.state = piece::states::device;
  one.lane = lane.index();
  one.number = batch.number;
  owner.issued += one.bytes;
  if (is_upload && owner.issued == owner.what.bytes) {
    // The whole upload is in the stream, so the completion number of this piece also marks the end
    // of the task.
    parts_.committer.launched(owner.task, lane, batch);
    copies_.erase(find(owner.task));
    return;
  }
  unnumbered_ = &lane;
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
    if (one.state != piece::states::free) { continue; }
    // `create` has allocated the first piece, so the copies can continue without this one.
    if (one.memory == nullptr && allocate(one) != CUDA_SUCCESS) { return nullptr; }
    return &one;
  }
  return nullptr;
}

void staged_copies::fail(copy& failed, driver::call_outcome why) {
  parts_.reporter.note(why.status);
  // After the device was replaced, the copy starts again (give_up_all).
  if (parts_.reporter.is_device_lost()) { return; }
  failed.why = make_failure(std::make_exception_ptr(driver_error(
      driver::status_of(why.status), why.call, parts_.reporter.describe(failed.task))));
}

void staged_copies::give_up_all(std::vector<slot_address>& tasks) {
  abandon_on_host(ring_);
  for (piece& one : ring_) { one.state = piece::states::free; }
  unnumbered_ = nullptr;
  while (end_failed()) {}
  for (copy const& each : std::exchange(copies_, {})) { tasks.push_back(each.task); }
}

void staged_copies::fail_all(std::shared_ptr<failure const> const& why) {
  for (copy& each : copies_) {
    if (each.why == nullptr) { each.why = why; }
  }
  abandon_on_host(ring_);
  while (write_number() || begin_emptying({}) || end_failed()) {}
}

bool staged_copies::end_failed() {
  // A failed copy must not end while one of its pieces is in use: the device or another thread
  // still uses the memory, and the memory may be freed after the task.
  auto const ended = std::find_if(copies_.begin(), copies_.end(), [this](copy const& each) {
    return each.why != nullptr && std::none_of(ring_.begin(), ring_.end(), [&](piece const& one) {
             return one.state != piece::states::free && one.task == each.task;
           });
  });
  if (ended == copies_.end()) { return false; }
  copy const gone = std::move(*ended);
  copies_.erase(ended);
  parts_.reporter.abandon(gone.task, gone.why);
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
