#include "dispatch/staging.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

bool staging::progress(std::function<bool()> const& stop) {
  if (copies_.empty()) { return false; }
  was_put_off_ = !was_put_off_ && unnumbered_ == nullptr && queue_.is_wanted();
  // Another pass takes in what has come; to let go of the lease is all that who wants that needs.
  if (was_put_off_) { return !queue_.gate.wanted(); }
  // Emptying comes before filling: it makes room.
  return number_issued() || empty_pieces(stop) || end_failed() || issue_piece(stop);
}

bool staging::number_issued() {
  if (unnumbered_ == nullptr) { return false; }
  queue_.finish(*std::exchange(unnumbered_, nullptr));
  return true;
}

/// Copies until all is copied, or something else is to be done here: a step at least. @return how much.
std::size_t staging::copy_while_unwanted(std::byte* to, std::byte const* from, std::size_t bytes,
                                         std::function<bool()> const& stop) const {
  std::size_t copied = 0;
  do {
    std::size_t const step = std::min(step_bytes, bytes - copied);
    std::memcpy(to + copied, from + copied, step);
    copied += step;
  } while (copied < bytes && !queue_.is_wanted() && !(stop && stop()));
  return copied;
}

/// Pieces whose copy is through become free; of a copy down, one at most is copied out, or a part of one.
bool staging::empty_pieces(std::function<bool()> const& stop) {
  for (piece& each : ring_) {
    if (!each.busy || queue_.page->number(each.lane) < each.number) { continue; }
    auto const of = std::find_if(copies_.begin(), copies_.end(), [&](copy const& c) { return c.task == each.task; });
    if (each.to == nullptr || of == copies_.end() || of->why != nullptr) {
      each.busy = false;
      each.to = nullptr;
      continue;
    }
    std::size_t const from = each.copied_out;
    each.copied_out += copy_while_unwanted(each.to + from, each.memory + from, each.bytes - from, stop);
    if (each.copied_out < each.bytes) { return true; }
    each.busy = false;
    each.to = nullptr;
    of->done += each.bytes;
    if (of->done == of->what.bytes) {
      slot_address const task = of->task;
      copies_.erase(of);
      queue_.owner.end(task, nullptr);
    }
    return true;
  }
  return false;
}

bool staging::may_go_on(copy& what) const noexcept {
  if (what.what.kind != transfer::kinds::host_to_device) { return true; }
  std::erase_if(what.behind, [this](end_mark const& each) {
    return queue_.owner.queue(each.device()).page->number(each.lane()) >= each.number();
  });
  return what.behind.empty();
}

urgency staging::level_of(copy const& of) const noexcept { return queue_.owner.at(of.task).level; }

bool staging::issue_piece(std::function<bool()> const& stop) {
  auto next = copies_.end();  // the first of the most urgent
  for (auto each = copies_.begin(); each != copies_.end(); ++each) {
    bool const goes_before = next == copies_.end() || level_of(*each) > level_of(*next);
    if (goes_before && each->why == nullptr && each->issued < each->what.bytes && may_go_on(*each)) { next = each; }
  }
  if (next == copies_.end()) { return false; }
  bool const up = next->what.kind == transfer::kinds::host_to_device;
  lane& on = *queue_.driving_.lanes[up ? lane_plan::up_lane : lane_plan::down_lane];
  if (!on.room()) { return false; }
  piece* const through = free_piece();
  if (through == nullptr) { return false; }
  driver::table const& api = queue_.context.api();
  std::size_t bytes = std::min(piece_bytes, next->what.bytes - next->issued);
  CUresult answer = CUDA_SUCCESS;
  if (up) {
    auto const* const from = reinterpret_cast<std::byte const*>(next->what.from + next->issued);
    bytes = copy_while_unwanted(through->memory, from, bytes, stop);
    answer = api.memcpy_htod_async(next->what.to + next->issued, through->memory, bytes, on.stream());
  } else {
    answer = api.memcpy_dtoh_async(through->memory, next->what.from + next->issued, bytes, on.stream());
  }
  if (answer != CUDA_SUCCESS) {
    fail(*next, answer, up ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync");
    return true;
  }
  lane::batch& batch = on.begin();
  queue_.driving_.busy |= std::uint64_t{1} << on.index();  // before its number, too: see would_wait
  through->busy = true;
  through->lane = on.index();
  through->number = batch.number;
  through->bytes = bytes;
  through->copied_out = 0;
  through->task = next->task;
  // Where the host is to have it: of a copy down, whose end only this class can say. Never what an earlier copy left here: slots,
  // and so tasks, come round.
  through->to = up ? nullptr : reinterpret_cast<std::byte*>(next->what.to + next->issued);
  next->issued += bytes;
  if (up && next->issued == next->what.bytes) {
    // All of it is on the stream: from here on the lane's number says when it is done.
    queue_.launched(next->task, on, batch);
    copies_.erase(next);
    return true;
  }
  unnumbered_ = &on;
  return true;
}

staging::piece* staging::free_piece() {
  for (piece& each : ring_) {
    if (each.busy) { continue; }
    if (each.memory == nullptr) {
      void* memory = nullptr;
      CUresult const answer = queue_.context.api().mem_host_alloc(&memory, piece_bytes, CU_MEMHOSTALLOC_PORTABLE);
      if (answer != CUDA_SUCCESS) {
        // With one piece at least, copies get through; with none they cannot.
        if (std::none_of(ring_.begin(), ring_.end(), [](piece const& p) { return p.memory != nullptr; })) {
          fail(copies_.front(), answer, "cuMemHostAlloc");
        }
        return nullptr;
      }
      each.memory = static_cast<std::byte*>(memory);
    }
    return &each;
  }
  return nullptr;
}

void staging::fail(copy& what, CUresult status, char const* call) {
  queue_.owner.note(status, queue_);
  what.why = failure_of(std::make_exception_ptr(
    driver_error(driver::status_of(status), call, queue_.describe(what.task))));
}

void staging::fail_all(std::shared_ptr<failure const> const& why) {
  for (copy& each : copies_) {
    if (each.why == nullptr) { each.why = why; }
  }
  while (number_issued() || empty_pieces({}) || end_failed()) {}
}

bool staging::end_failed() {
  // Not while a piece of it is under way: the device still touches the buffer, which may be freed behind the task.
  auto const ends = std::find_if(copies_.begin(), copies_.end(), [this](copy const& c) {
    return c.why != nullptr && std::none_of(ring_.begin(), ring_.end(), [&c](piece const& p) {
             return p.busy && p.task == c.task;
           });
  });
  if (ends == copies_.end()) { return false; }
  copy const gone = std::move(*ends);
  copies_.erase(ends);
  queue_.owner.end(gone.task, gone.why);
  return true;
}

void staging::destroy() noexcept {
  for (piece& each : ring_) {
    if (each.memory != nullptr) { queue_.context.api().mem_free_host(std::exchange(each.memory, nullptr)); }
  }
}

}  // namespace flotilla::dispatch
