// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the options of a runtime and completes them with defaults.

#include <cstddef>
#include <vector>

#include <flotilla/runtime.hpp>
#include <flotilla/settings/settings.hpp>

#include "context/plan.hpp"
#include "dispatch/fault/restart_limit.hpp"

namespace flotilla::dispatch {

inline constexpr unsigned default_restart_intensity = 10;
inline constexpr unsigned default_restart_period_ms = 60'000;

/// Returns `options` if they are valid, and applies those of the log.
/// @throws invalid_argument, unknown_setting
[[nodiscard]] runtime_options checked_options(runtime_options options);

/// Returns the checks that the runtime makes: those of the options, or else those of the
/// environment. @throws unknown_setting
[[nodiscard]] checks checks_of(runtime_options const& options);

/// Returns the number of workers of a runtime that has this number of devices.
/// @param wanted  A number of workers, or runtime_options::automatic.
[[nodiscard]] int worker_count(int wanted, std::size_t devices);

/// Combines the settings in code with those in the environment. For each device, a setting in code
/// overrides the same setting in the environment.
[[nodiscard]] settings with_environment(runtime_options const& options);

/// Returns the window of each device, in tasks.
[[nodiscard]] std::vector<std::size_t> windows_of(std::vector<context::request> const& requests);

/// Returns how often the device may be replaced, if it is isolated.
[[nodiscard]] restart_limit::options restart_limit_of(device_settings const& asked);

/// Returns the window for tasks that any device may take, in tasks: the sum of the windows of all
/// devices, limited to context::max_window.
[[nodiscard]] std::size_t shared_window_of(std::vector<context::request> const& requests);

}  // namespace flotilla::dispatch
