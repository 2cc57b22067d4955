// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_tracks.hpp"

#include <errno.h>
#include <unistd.h>

#include "dispatch/task/trace_stamp.hpp"
#include "dispatch/trace/trace_records.hpp"

namespace flotilla::dispatch {

namespace {
using kinds = track_description::kinds;
}

trace_tracks::trace_tracks(packet_stream& to, trace_names const& names)
    : to_(to), names_(names), devices_(names.devices.size()) {
  process_ = add(kinds::process, 0, program_invocation_short_name);
}

std::uint64_t trace_tracks::add(kinds kind, std::uint64_t parent, std::string name) {
  to_.describe(
      {.kind = kind, .track = next_, .parent = parent, .name = std::move(name), .pid = ::getpid()});
  return next_++;
}

std::uint64_t trace_tracks::thread(std::int64_t tid, std::string const& name) {
  std::uint64_t& track = threads_[tid];
  if (track == 0) {
    track = next_++;
    to_.describe(
        {.kind = kinds::thread, .track = track, .name = name, .pid = ::getpid(), .tid = tid});
  }
  return track;
}

std::uint64_t trace_tracks::device_group(unsigned device) {
  std::uint64_t& track = devices_[device];
  if (track == 0) {
    track = add(kinds::plain, process_,
                "device " + std::to_string(device) + ": " + names_.devices[device]);
  }
  return track;
}

std::uint64_t trace_tracks::device(unsigned device, of_device which) {
  std::uint64_t& track = device_tracks_[{device, static_cast<unsigned>(which)}];
  if (track != 0) { return track; }
  std::uint64_t const parent = device_group(device);
  switch (which) {
    case of_device::queued: return track = add(kinds::count, parent, "queued tasks");
    case of_device::in_flight: return track = add(kinds::count, parent, "launches in flight");
    case of_device::memory: return track = add(kinds::bytes, parent, "memory of buffers");
    case of_device::measured: return track = add(kinds::plain, parent, "measured launches");
    case of_device::copies_out: return track = add(kinds::plain, parent, "copies to other devices");
  }
  return track;
}

trace_tracks::group& trace_tracks::lane_group(unsigned device, unsigned lane) {
  std::pair const key{device, lane};
  if (last_group_ != nullptr && last_lane_ == key) { return *last_group_; }
  group& made = lanes_[key];
  last_lane_ = key;
  last_group_ = &made;
  if (made.track != 0) { return made; }
  if (device == task_record::no_device) {
    made.track = add(kinds::plain, process_, "host tasks and bulks");
  } else {
    made.track = add(kinds::plain, device_group(device),
                     lane == trace_stamp::no_lane ? "tasks without a lane" : names_.lane(lane));
  }
  return made;
}

std::uint64_t trace_tracks::row(unsigned device, unsigned lane, of_lane which, std::int64_t begin,
                                std::int64_t end) {
  group& of = lane_group(device, lane);
  bool const is_task = which == of_lane::tasks;
  track_rows::row& row = (is_task ? of.tasks : of.batches).take(begin, end);
  if (row.track == 0) { row.track = add(kinds::plain, of.track, is_task ? "tasks" : "batches"); }
  return row.track;
}

std::uint64_t trace_tracks::dropped() {
  if (dropped_ == 0) { dropped_ = add(kinds::count, process_, "dropped events"); }
  return dropped_;
}

}  // namespace flotilla::dispatch
