// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/trace_control.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/launch.hpp"
#include "base/log.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/lane_layout.hpp"
#include "dispatch/runtime/trace_environment.hpp"
#include "dispatch/trace/trace_session.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns the name of a lane in traces.
std::string name_of_lane(unsigned lane) {
  if (lane == lane_layout::upload_lane) { return "copies to the device, and fills"; }
  if (lane == lane_layout::download_lane) { return "copies to the host"; }
  if (lane == lane_layout::staged_upload_lane) { return "copies from pageable memory"; }
  if (lane == lane_layout::staged_download_lane) { return "copies to pageable memory"; }
  priority_level const level = lane_layout::level_of(lane);
  bool const takes_launches = lane_layout::takes_launches(lane);
  unsigned const first = takes_launches ? lane_layout::launch_lanes_of(level).first
                                        : lane_layout::callable_lanes_of(level).first;
  return (takes_launches ? "launches " : "callables ") + std::to_string(lane - first) +
         (level == 0 ? "" : ", priority " + std::to_string(-int{level}));
}

// Open tasks that overlap have a row each, and nobody reads thousands of rows.
constexpr std::size_t max_open_tasks = 1000;  // of a device, in a trace

/// Notes the open tasks of a device. The caller must hold its lease.
class open_task_notes {
 public:
  open_task_notes(tracer& trace, device_driver& device) : trace_(trace), device_(device) {}

  /// Notes the tasks in the lanes, whose launch times the lanes know.
  void note_launched() {
    device_.lanes().for_each_busy([this](lane const& of) {
      for (std::size_t i = 0; i < of.in_flight(); ++i) {
        lane::batch const& batch = of.in_flight(i);
        std::int64_t const launched = tracer::as_ns(batch.begun);
        // A lane runs its batches in order. So only the oldest one may have begun.
        std::int64_t const begun = i == 0 ? std::max(launched, tracer::as_ns(of.last_end())) : now_;
        for (slot_address const task : std::span{batch.tasks.data(), batch.count}) {
          static_cast<void>(trace_.note_batch(task, launched, begun, of.index()));
          note(task);
        }
      }
    });
  }
  /// Notes the tasks that are not launched, and those that are in no batch.
  void note_others(task_table const& tasks) {
    tasks.for_each_open([&](slot_address task) {
      slot const& one = tasks.at(task);
      // acquire: pairs with the release in intake
      if (one.device.load(std::memory_order_acquire) != device_.index() + 1) { return true; }
      // Another thread may be ending a cancelled task, and does not need the lease to do so.
      generation_word const word{one.generation.load(std::memory_order_relaxed)};
      if (!is_final_cancellation(word.cancel())) { note(task); }
      return left_ != 0;
    });
  }

 private:
  void note(slot_address task) {
    if (left_ != 0 && trace_.note_first(task, traced_end::unfinished, now_)) { --left_; }
  }

  tracer& trace_;
  device_driver& device_;
  std::int64_t const now_ = tracer::now();
  std::size_t left_ = max_open_tasks;
};

void note_open_tasks_of(device_driver& device, trace_control::parts const& with) {
  open_task_notes notes{with.trace, device};
  notes.note_launched();
  notes.note_others(with.tasks);
}

}  // namespace

void trace_control::note_open_tasks() const {
  // A thread that drives a device gives the lease back after its current pass, which takes long
  // only because of callables.
  constexpr std::chrono::milliseconds max_time{20};
  auto const until = std::chrono::steady_clock::now() + max_time;
  for (unsigned i = 0; i < with_.devices.size() && with_.trace.active(); ++i) {
    device_driver& device = with_.devices[i];
    if (device.gate().held_by_this_thread()) {  // inside a callable
      note_open_tasks_of(device, with_);
    } else if (auto lease = device.gate().take_until(until)) {
      device_set::lease_guard const guard{with_.devices, device, std::move(*lease)};
      note_open_tasks_of(device, with_);
    }
  }
}

void trace_control::notice_ends() const {
  constexpr std::chrono::milliseconds max_time{20};
  auto const until = std::chrono::steady_clock::now() + max_time;
  auto const is_driven_elsewhere = [&] {
    for (unsigned i = 0; i < with_.devices.size(); ++i) {
      context::lease_gate const& gate = with_.devices[i].gate();
      if (gate.held() && !gate.held_by_this_thread()) { return true; }
    }
    return false;
  };
  while (std::chrono::steady_clock::now() < until) {
    with_.devices.collect_all();
    if (!with_.devices.any_ended() && !is_driven_elsewhere()) { return; }
    std::this_thread::yield();
  }
}

std::shared_ptr<detail::trace_session> trace_control::start(trace_options options) const {
  with_.usage.check_process();
  trace_names names{
      .kernel = [this](std::uint32_t kernel) { return with_.kernels.kernels[kernel].name; },
      .lane = &name_of_lane};
  for (device const& each : with_.infos) { names.devices.push_back(each.name); }
  return detail::trace_session::begin(with_.trace, std::move(options), std::move(names), [this] {
    notice_ends();
    note_open_tasks();
  });
}

void trace_control::start_of_environment() const {
  // The ranks of a program and the runtimes of a process write separate files.
  static std::atomic<unsigned> traces{0};
  auto options = trace_options_of_environment();
  if (!options) { return; }
  if (auto const how = base::find_launch(); how.ranks > 1) {
    options->file += ".rank" + std::to_string(how.rank);
  }
  if (unsigned const before = traces.fetch_add(1, std::memory_order_relaxed); before != 0) {
    options->file += "." + std::to_string(before + 1);
  }
  try {
    static_cast<void>(start(*std::move(options)));
  } catch (std::exception const& why) {
    // The program does not depend on its trace.
    base::log_format(log_level::warning, "FLOTILLA_TRACE: %s; the program runs without a trace",
                     why.what());
  }
}

void trace_control::end() const noexcept {
  std::shared_ptr<detail::trace_session> session;
  {
    std::lock_guard const lock{with_.trace.current().mutex};
    session = with_.trace.current().session;
  }
  if (session != nullptr) { session->end_and_report(); }
}

}  // namespace flotilla::dispatch
