#pragma once
// What each device of a runtime is asked: settings of code, environment and file, the sources that the device
// specification names, and the multiprocessors of green contexts. All that can be refused before a context exists is.

#include <vector>

#include <flotilla/settings.hpp>

#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

inline constexpr unsigned most_lanes = 32;
inline constexpr std::size_t least_window = 64;
inline constexpr std::size_t most_window = 65000;

/// One request a device, in their order. Devices that are green contexts get their number of multiprocessors and part.
/// @throws unknown_setting   A device that there is not; a value out of range; a source beside another; settings
///                           that green contexts of one GPU share and that differ: both are named.
/// @throws invalid_argument  Multiprocessors that cannot be had.
/// @throws driver_error      The driver has no green contexts.
[[nodiscard]] std::vector<request> plan(choice& chosen, settings const& asked, bool best_effort);

}  // namespace flotilla::context
