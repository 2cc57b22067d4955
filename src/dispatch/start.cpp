// From "this device has the task" to "it is on a stream".
#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/error.hpp>
#include <flotilla/work.hpp>

#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void device_queue::start(slot_address address) {
  start_one(address);
  start_resumed();
}

void device_queue::start_resumed() {
  // Not where they are found: a chain of them, each parked on the one before, would go as deep as it is long.
  while (!driving_.resumed.empty()) {
    slot_address const next = driving_.resumed.back();
    driving_.resumed.pop_back();
    start_one(next);
  }
}

void device_queue::start_one(slot_address address) {
  slot const& of = owner.at(address);
  if (joins_filling(of)) { return stage(address, driving_.filling[of.level]); }
  task_kind const kind = of.kind;
  unsigned follows = no_lane;
  if (!resolve(address, driving_.waits, kind == task_kind::launch ? &follows : nullptr)) { return; }
  switch (kind) {
    case task_kind::launch: start_launch(address, driving_.waits, follows); break;
    case task_kind::transfer: start_transfer(address, driving_.waits); break;
    case task_kind::work: driving_.works.of(of.level).push_back(address); break;  // run when the launches are out
    case task_kind::recorded: start_recorded(address, driving_.waits); break;
  }
}

bool device_queue::resolve(slot_address address, std::vector<end_mark>& waits, unsigned* follows) {
  waits.clear();
  slot& of = owner.at(address);
  std::uint32_t const order_only = of.kind == task_kind::recorded ? held_in<replayed_part>(of).order_only : 0;
  for (std::size_t i = 0; i < of.dependencies; ++i) {
    task_key key;
    if (i < slot::inline_dependencies) {
      key = {of.after_slot[i], of.after_generation[i]};
    } else {
      slot_side::key const& more = owner.side(address).more_dependencies[i - slot::inline_dependencies];
      key = {more.slot, more.generation};
    }
    while (true) {
      task_state const ahead = owner.look(key);
      if (ahead.state == task_state::states::open) {
        // Nothing is launched any more, what is staged neither; every open task has the fault.
        if (owner.is_poisoned()) { return false; }
        std::uint32_t const mark = owner.at(key.slot).staged.load(std::memory_order_relaxed);
        if (stage_mark::is_on(mark, index)) {
          // Ours to launch, and it will be before this pass ends. One such lane may be followed.
          unsigned const on = stage_mark::lane(mark);
          if (follows != nullptr && (*follows == no_lane || *follows == on)) {
            *follows = on;
            break;
          }
          launch_staged(on);
          continue;
        }
        if (owner.park(address, key)) { return false; }
        continue;  // it has moved on between the look and the parking
      }
      if (ahead.state == task_state::states::failed && i < order_only) { break; }
      if (ahead.state == task_state::states::failed) {
        // The first cause, however long the chain: what failed by its own dependency says it already.
        std::string text = ahead.why->text;
        std::string const mark = "; first cause: ";
        if (std::size_t const first = text.find(mark); first != std::string::npos) {
          text.erase(0, first + mark.size());
        }
        drop_task(address, failure_of(std::make_exception_ptr(
                             dependency_failed(describe(address) + " did not run: a task it was to run after failed" +
                                               mark + text))));
        return false;
      }
      if (ahead.state == task_state::states::launched) { waits.push_back(ahead.end); }
      break;
    }
  }
  return true;
}

bool device_queue::put_behind(std::vector<end_mark> const& waits, lane& on, slot_address task, end_mark awaited) {
  urgency const level = lane_plan::level_of(on.index());
  if (CUresult const answer = on.open(priority_of(level)); answer != CUDA_SUCCESS) {
    fail(task, answer, "cuStreamCreateWithPriority");
    return false;
  }
  if (level != 0 && lane_plan::takes_launches(on.index()) && info.kind == device_kind::gpu) { driving_.has_urgent_lanes = true; }
  for (end_mark const& each : waits) {
    if (each.device() == index && each.lane() == on.index()) { continue; }  // in order already
    if (each.word == awaited.word) { continue; }
    if (owner.queue(each.device()).page->number(each.lane()) >= each.number()) { continue; }
    if (CUresult const answer = owner.queue(each.device()).order_behind(each, on.stream()); answer != CUDA_SUCCESS) {
      fail(task, answer, "cuStreamWaitValue64");
      return false;
    }
  }
  return true;
}

CUresult device_queue::order_behind(end_mark ahead, CUstream stream) {
  // For its number, and not for an event: one would have to be recorded in that stream, behind all that is in it and while a
  // callable may be capturing there; and in two threads that alternate both calls take 2.8 us, this one 1.4.
  return context.api().stream_wait_value_64(stream, page->device_address(ahead.lane()), ahead.number(), CU_STREAM_WAIT_VALUE_GEQ);
}

void device_queue::launched(slot_address address, lane& on, lane::batch& in) {
  in.tasks[in.count++] = address;
  end_mark const end = end_mark::of(index, on.index(), in.number);
  // The write of its number first: what another device's thread launches behind it waits for that.
  finish(on);
  // After this nobody may touch the slot but to end it.
  owner.launched({&address, 1}, end);
}

void device_queue::finish(lane& of) {
  driving_.busy |= std::uint64_t{1} << of.index();
  owner.note(of.finish(), *this);
}

void device_queue::start_transfer(slot_address address, std::vector<end_mark> const& waits) {
  slot& of = owner.at(address);
  transfer const what = held_in<transfer>(of);
  bool const down = what.kind == transfer::kinds::device_to_host;
  lane& on = *driving_.lanes[down ? lane_plan::down_lane : lane_plan::up_lane];
  if (!on.room()) {
    driving_.ready.of(of.level).push_back(address);
    return;
  }
  staging_.number_issued();
  if (!put_behind(waits, on, address)) { return; }
  bool const host_side = down || what.kind == transfer::kinds::host_to_device;
  if (host_side && !what.pinned && what.bytes != 0) {
    staging_.add(address, what, waits);
    return;
  }
  if (CUresult const answer = what.bytes == 0 ? CUDA_SUCCESS : issue(what, on.stream()); answer != CUDA_SUCCESS) {
    fail(address, answer, what.kind == transfer::kinds::fill ? "cuMemsetAsync" : "cuMemcpyAsync");
    return;
  }
  launched(address, on, on.begin());
}

CUresult device_queue::issue(transfer const& what, CUstream stream) {
  driver::table const& api = context.api();
  switch (what.kind) {
    case transfer::kinds::host_to_device:
      return api.memcpy_htod_async(what.to, reinterpret_cast<void const*>(what.from), what.bytes, stream);
    case transfer::kinds::device_to_host:
      return api.memcpy_dtoh_async(reinterpret_cast<void*>(what.to), what.from, what.bytes, stream);
    case transfer::kinds::device_to_device:
      if (what.device == what.from_device) { return api.memcpy_dtod_async(what.to, what.from, what.bytes, stream); }
      return api.memcpy_peer_async(what.to, context.handle(), what.from,
                                   owner.queue(what.from_device.value).context.handle(), what.bytes, stream);
    case transfer::kinds::fill:
      if (what.fill_width == 1) {
        return api.memset_d8_async(what.to, static_cast<unsigned char>(what.fill_value), what.bytes, stream);
      }
      if (what.fill_width == 2) {
        return api.memset_d16_async(what.to, static_cast<unsigned short>(what.fill_value), what.bytes / 2, stream);
      }
      return api.memset_d32_async(what.to, what.fill_value, what.bytes / 4, stream);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void device_queue::fail(slot_address address, CUresult status, char const* call) {
  owner.note(status, *this);
  // On a poisoned driver every open task has the fault; this one is among the suspects.
  if (is_sticky(driver::status_of(status))) { return; }
  drop_task(address, failure_of(std::make_exception_ptr(
                       driver_error(driver::status_of(status), call, describe(address)))));
}

void device_queue::drop_task(slot_address address, std::shared_ptr<failure const> why) {
  slot& of = owner.at(address);
  if (of.kind == task_kind::work && of.holds_work) {
    of.holds_work = false;
    std::destroy_at(&held_in<work>(of));
  }
  if (of.kind == task_kind::recorded) {
    // What it was to change, later replays are to find changed.
    replayed_part& what = held_in<replayed_part>(of);
    owner.parts.get(what.part)->owe(std::exchange(what.changes, change_lists::none));
  }
  owner.end(address, std::move(why));
}

std::string device_queue::describe(slot_address address) const {
  slot& of = owner.at(address);
  std::string text;
  switch (of.kind) {
    case task_kind::launch: text = "kernel '" + owner.table.kernels[of.kernel].name + "'"; break;
    case task_kind::transfer: text = "a copy or fill"; break;
    case task_kind::work: text = "a callable"; break;
    case task_kind::recorded: {
      // Who looks for suspects may see a task that has just ended, and then its part may be gone.
      auto const part = owner.parts.get(held_in<replayed_part>(of).part);
      text = part == nullptr ? "a replay" : part->describe();
    }
  }
  if (of.labelled) { text += std::string{", label '"} + owner.side(address).label.data() + "'"; }
  return text + ", " + context.subject();
}

void device_queue::count_ended(std::uint32_t tasks, std::uint32_t for_any, urgency level, bool failed) noexcept {
  bump(tasks_, tasks);
  if (failed) { bump(failed_, tasks); }
  if (for_any != 0) { any_open_[level].fetch_sub(for_any, std::memory_order_relaxed); }
}

}  // namespace flotilla::dispatch
