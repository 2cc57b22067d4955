#pragma once
// Makes the request for each device of a runtime: its settings, its context source, and the
// multiprocessors of a green context. All checks that need no context are made here.

#include <vector>

#include <flotilla/settings/settings.hpp>

#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

inline constexpr unsigned max_lanes = 32;
inline constexpr std::size_t min_window = 64;
inline constexpr std::size_t max_window = 65000;

/// Makes one request per device, in the order of the devices. Sets `multiprocessors` and `part` of
/// each device in `chosen` that is a green context.
/// @throws unknown_setting   The settings name a device that does not exist, contain a value out of
///                           range, contradict each other, contradict the device specification, or
///                           differ where all green contexts of one GPU must agree.
/// @throws invalid_argument  The GPU has too few multiprocessors for the requested parts.
/// @throws driver_error      The driver does not support green contexts.
[[nodiscard]] std::vector<request> plan(choice& chosen, settings const& asked, bool best_effort);

}  // namespace flotilla::context
