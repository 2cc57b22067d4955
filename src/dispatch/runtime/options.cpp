// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/options.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/settings/explanations.hpp>

#include "base/log.hpp"
#include "base/processors.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t default_window = 16384;

/// @throws invalid_argument
void check_time(std::string const& name, std::optional<std::chrono::milliseconds> time,
                std::chrono::milliseconds min) {
  if (!time || (*time >= min && *time <= context::max_restart_time)) { return; }
  throw invalid_argument("runtime_options::restart." + name + " must be between " +
                         std::to_string(min.count()) + " and " +
                         std::to_string(context::max_restart_time.count()) + " ms, but is " +
                         std::to_string(time->count()) + " ms");
}
}  // namespace

runtime_options checked_options(runtime_options options) {
  auto const [min, max] = std::pair{context::min_window, context::max_window};
  if (options.window && (*options.window < min || *options.window > max)) {
    throw invalid_argument("runtime_options::window must be between " + std::to_string(min) +
                           " and " + std::to_string(max) + " tasks, but is " +
                           std::to_string(*options.window));
  }
  if (options.workers < runtime_options::automatic) {
    throw invalid_argument(
        "runtime_options::workers must be 0 or more, or runtime_options::automatic, but is " +
        std::to_string(options.workers));
  }
  if (options.stuck_after && *options.stuck_after < std::chrono::milliseconds::zero()) {
    throw invalid_argument("runtime_options::stuck_after must be 0 or more, but is " +
                           std::to_string(options.stuck_after->count()) + " ms");
  }
  base::check_log_environment();
  static_cast<void>(explanations::from_environment());  // refused here, not by the first flow
  check_time("period", options.restart.period, std::chrono::milliseconds{1});
  check_time("back_off", options.restart.back_off, std::chrono::milliseconds{0});
  return options;
}

restart_limit::options restart_limit_of(device_settings const& asked) {
  using std::chrono::milliseconds;
  return {
      .intensity = asked.restart_intensity.value_or(default_restart_intensity),
      .period = milliseconds{asked.restart_period_ms.value_or(default_restart_period_ms)},
      .back_off = milliseconds{asked.restart_back_off_ms.value_or(0)},
  };
}

checks checks_of(runtime_options const& options) {
  return options.checks ? *options.checks : checks::from_environment();
}

int worker_count(int wanted, std::size_t devices) {
  if (wanted != runtime_options::automatic) { return wanted; }
  int const cores = static_cast<int>(base::usable_processors());
  return std::clamp(static_cast<int>(devices), 1, std::max(1, cores - 1));
}

settings with_environment(runtime_options const& options) {
  settings code = options.settings;
  if (!code.all.window) { code.all.window = options.window; }
  if (!code.all.stuck_after) { code.all.stuck_after = options.stuck_after; }
  auto const count_of = [](std::optional<std::chrono::milliseconds> time) {
    return time ? std::optional{static_cast<unsigned>(time->count())} : std::nullopt;
  };
  device_settings given;
  given.restart_intensity = options.restart.intensity;
  given.restart_period_ms = count_of(options.restart.period);
  given.restart_back_off_ms = count_of(options.restart.back_off);
  code.all = code.all.over(given);
  return code.over(settings::from_environment());
}

std::vector<std::size_t> windows_of(std::vector<context::request> const& requests) {
  std::vector<std::size_t> windows;
  for (context::request const& request : requests) {
    windows.push_back(request.settings.window.value_or(default_window));
  }
  return windows;
}

std::size_t shared_window_of(std::vector<context::request> const& requests) {
  std::size_t sum = 0;
  for (std::size_t const window : windows_of(requests)) { sum += window; }
  return std::min(sum, context::max_window);
}

}  // namespace flotilla::dispatch
