// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/stuck_devices.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "dispatch/recording/replayed_part.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::chrono::milliseconds min_interval{1};
constexpr std::chrono::milliseconds max_interval{1000};
constexpr int looks_per_limit = 8;

std::intmax_t milliseconds_of(stuck_devices::clock::duration time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace

void stuck_devices::add(lane_set const& lanes, stream_health& streams,
                        context::context_handle const& context, clock::duration limit,
                        slot_reader with_slots) {
  devices_.emplace_back(lanes, streams, context, limit, std::move(with_slots));
  if (limit == clock::duration::zero()) { return; }
  min_limit_ = is_active() ? std::min(min_limit_, limit) : limit;
}

stuck_devices::clock::duration stuck_devices::interval() const noexcept {
  return std::clamp<clock::duration>(min_limit_ / looks_per_limit, min_interval, max_interval);
}

void stuck_devices::look() noexcept {
  if (!is_active()) { return; }
  auto const now = clock::now();
  if (now.time_since_epoch().count() < next_look_.load(std::memory_order_relaxed)) { return; }
  std::unique_lock const lock{looking_, std::try_to_lock};
  if (!lock.owns_lock()) { return; }
  next_look_.store((now + interval()).time_since_epoch().count(), std::memory_order_relaxed);
  for (watched_device& each : devices_) {
    if (each.limit != clock::duration::zero()) { look_at(each, now); }
  }
}

end_mark stuck_devices::oldest_of(lane_set const& lanes, unsigned index) const noexcept {
  std::uint64_t const number = lanes[index].oldest_number();
  if (number == lane::no_number) { return {}; }
  end_mark const mark = end_mark::of(lanes.device(), index, number);
  return board_.reached(mark) ? end_mark{} : mark;
}

void stuck_devices::look_at(watched_device& device, clock::time_point now) noexcept {
  bool const is_isolated = lost_.is_isolated(device.lanes.device());
  bool is_stuck = false;
  end_mark longest;
  batch_tasks tasks_of_longest;
  clock::duration time = device.limit;
  for (unsigned i = 0; i < lane_layout::all_lanes; ++i) {
    seen_batch& seen = device.oldest[i];
    end_mark const oldest = oldest_of(device.lanes, i);
    std::uint64_t const number = oldest.valid() ? oldest.number() : lane::no_number;
    if (number != seen.number) { seen = {number, now}; }
    if (number == lane::no_number || now - seen.since < device.limit) { continue; }
    // If a look has no answer, the device stays as it is: if it were not stuck for a moment, tasks
    // would go there.
    bool const was_stuck = device.is_stuck.load(std::memory_order_relaxed);
    std::optional<batch_tasks> tasks = tasks_of(device, oldest);
    // Usually the thread that drives the device ends the batch soon. But it may be inside a call of
    // the driver that waits for the stuck work.
    if (!tasks && !was_stuck && now - seen.since < 2 * device.limit) { continue; }
    if (!tasks) { tasks.emplace(); }
    if (!is_isolated && end_unreported(device, oldest, *tasks).value_or(!was_stuck)) { continue; }
    if (tasks->is_ahead) { continue; }
    is_stuck = true;
    if (now - seen.since < time) { continue; }
    longest = oldest;
    tasks_of_longest = std::move(*tasks);
    time = now - seen.since;
  }
  if (is_isolated) {
    if (is_stuck) { end_worker(device, longest, tasks_of_longest, time); }
    return;
  }
  if (is_stuck == device.is_stuck.load(std::memory_order_relaxed)) { return; }
  device.is_stuck.store(is_stuck, std::memory_order_relaxed);
  if (is_stuck) {
    count_.fetch_add(1, std::memory_order_relaxed);
    report(device, tasks_of_longest, time);
  } else {
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::optional<stuck_devices::batch_tasks> stuck_devices::tasks_of(watched_device const& device,
                                                                  end_mark oldest) const noexcept {
  std::optional<batch_tasks> tasks;
  try {
    static_cast<void>(device.with_slots([&] {
      if (device.lanes[oldest.lane()].oldest_number() != oldest.number()) { return; }
      tasks.emplace();
      tasks->is_ahead = is_ahead_of_others(oldest);
      tasks->text = tasks_at(device, oldest);
    }));
  } catch (std::exception const&) {}  // no memory for the text
  return tasks;
}

bool stuck_devices::is_ahead_of_others(end_mark oldest) const {
  bool is_ahead = false;
  tasks_.for_each_open([&](slot_address task) {
    slot& one = tasks_.at(task);
    if (one.end.load(std::memory_order_acquire) != oldest.word) { return true; }
    if (one.kind != task_kind::recorded) { return false; }
    auto const part = recordings_.get(held_in<replayed_part>(one).part);
    replay_group const* const group = part == nullptr ? nullptr : part->group();
    is_ahead = group != nullptr && group->is_ahead(part->number_in_group());
    return false;
  });
  return is_ahead;
}

std::string stuck_devices::tasks_at(watched_device const& device, end_mark stuck) const {
  std::string tasks;
  tasks_.for_each_open([&](slot_address task) {
    if (tasks_.at(task).end.load(std::memory_order_acquire) != stuck.word) { return true; }
    if (!tasks.empty()) {
      tasks += "; and others";
      return false;
    }
    tasks = text_.describe(task, device.context.subject());
    return true;
  });
  return tasks.empty() ? "no task of this runtime" : tasks;
}

void stuck_devices::end_worker(watched_device& device, end_mark stuck, batch_tasks const& tasks,
                               clock::duration time) noexcept {
  unsigned const index = device.lanes.device();
  // The work on the successor counts from its own beginning.
  device.oldest.fill({});
  bool const is_gone = device.lanes[stuck.lane()].oldest_number() != stuck.number();
  if (is_gone || lost_.is_lost(index) || lost_.is_quarantined(index)) { return; }
  try {
    base::log_format(log_level::error,
                     "%s is stuck: work that was launched there has not ended for %jd ms "
                     "(runtime_options::stuck_after): %s. Its worker process is ended and replaced",
                     device.context.subject().c_str(), milliseconds_of(time), tasks.text.c_str());
  } catch (...) { base::log(log_level::error, "an isolated device is stuck"); }  // no memory
  lost_.kill(index);
}

std::optional<bool> stuck_devices::end_unreported(watched_device& device, end_mark oldest,
                                                  batch_tasks const& tasks) noexcept {
  auto const was_lost = device.streams.replace_lost_number(oldest.lane(), oldest.number());
  if (!was_lost || !*was_lost) { return was_lost; }
  try {
    base::log_format(log_level::warning,
                     "%s did not report that this work ended: %s. Its stream is empty, so the work "
                     "counts as ended",
                     device.context.subject().c_str(), tasks.text.c_str());
  } catch (...) { base::log(log_level::warning, "the end of a batch was not reported"); }
  return true;
}

void stuck_devices::report(watched_device const& device, batch_tasks const& tasks,
                           clock::duration time) noexcept {
  try {
    base::log_format(
        log_level::error,
        "%s is stuck: work that was launched there has not ended for %jd ms "
        "(runtime_options::stuck_after): %s. Nothing in this process can stop a running "
        "kernel. Until it ends, tasks that name no device go to other devices",
        device.context.subject().c_str(), milliseconds_of(time), tasks.text.c_str());
  } catch (...) { base::log(log_level::error, "a device is stuck"); }  // no memory
}

}  // namespace flotilla::dispatch
