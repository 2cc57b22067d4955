// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/trace_control.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "dispatch/lane/lane_layout.hpp"
#include "dispatch/runtime/trace_environment.hpp"
#include "dispatch/trace/trace_session.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns the name of a lane in traces.
std::string name_of_lane(unsigned lane) {
  if (lane == lane_layout::upload_lane) { return "copies to the device, and fills"; }
  if (lane == lane_layout::download_lane) { return "copies to the host"; }
  priority_level const level = lane_layout::level_of(lane);
  bool const takes_launches = lane_layout::takes_launches(lane);
  unsigned const first = takes_launches ? lane_layout::launch_lanes_of(level).first
                                        : lane_layout::callable_lanes_of(level).first;
  return (takes_launches ? "launches " : "callables ") + std::to_string(lane - first) +
         (level == 0 ? "" : ", priority " + std::to_string(-int{level}));
}

}  // namespace

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
  return detail::trace_session::begin(with_.trace, std::move(options), std::move(names),
                                      [this] { notice_ends(); });
}

void trace_control::start_of_environment() const {
  // The runtimes of a process write separate files.
  static std::atomic<unsigned> traces{0};
  auto options = trace_options_of_environment();
  if (!options) { return; }
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
    std::lock_guard const lock{with_.trace.mutex()};
    session = with_.trace.session();
  }
  if (session != nullptr) { session->end_and_report(); }
}

}  // namespace flotilla::dispatch
