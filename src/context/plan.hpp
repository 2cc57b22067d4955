#pragma once
// The request for each device of a runtime: its settings, its context source, and the
// multiprocessors of green contexts. Everything that can be checked before a context exists is
// checked here.

#include <vector>

#include <flotilla/settings/settings.hpp>

#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

inline constexpr unsigned max_lanes = 32;
inline constexpr std::size_t min_window = 64;
inline constexpr std::size_t max_window = 65000;

/// Makes one request per device, in the order of the devices. Sets `multiprocessors` and `part` of
/// devices that are green contexts.
/// @throws unknown_setting   There is no such device; a value is out of range; two sources are
///                           named; green contexts of one GPU differ in a setting that they share.
/// @throws invalid_argument  The GPU does not have the requested multiprocessors.
/// @throws driver_error      The driver does not support green contexts.
[[nodiscard]] std::vector<request> plan(choice& chosen, settings const& asked, bool best_effort);

}  // namespace flotilla::context
