#pragma once
// The options of a runtime: checked, and completed with defaults.

#include <cstddef>
#include <vector>

#include <flotilla/runtime.hpp>
#include <flotilla/settings/settings.hpp>

#include "context/plan.hpp"

namespace flotilla::dispatch {

/// @throws invalid_argument
[[nodiscard]] runtime_options checked_options(runtime_options options);

/// @param wanted  A count, or runtime_options::automatic.
[[nodiscard]] int worker_count(int wanted, std::size_t devices);

/// The settings to request. Settings in code override the environment, for each device and each
/// setting.
[[nodiscard]] settings with_environment(runtime_options const& options);

/// The window of each device, in tasks.
[[nodiscard]] std::vector<std::size_t> windows_of(std::vector<context::request> const& requests);

/// The window of the tasks for any device, in tasks: room for what all devices can take.
[[nodiscard]] std::size_t shared_window_of(std::vector<context::request> const& requests);

}  // namespace flotilla::dispatch
