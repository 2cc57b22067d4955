// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes one request for each device of a runtime. A request contains the device's settings, which
// name the context source. For a green context, the request also contains the multiprocessors. All
// checks that are possible without a context are made here.

#include <chrono>
#include <vector>

#include <flotilla/settings/settings.hpp>

#include "base/numa_nodes.hpp"
#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

inline constexpr unsigned max_lanes = 32;
inline constexpr std::size_t min_window = 64;
inline constexpr std::size_t max_window = 65000;
inline constexpr std::chrono::milliseconds max_restart_time = std::chrono::hours{24};

/// Makes one request per device, in the order of the devices. In `chosen`, sets `multiprocessors`
/// and `part` of each device whose context source is a green context.
/// @throws unknown_setting   The settings name a device that does not exist, contain a value out of
///                           range, contradict each other, contradict the device specification, or
///                           give green contexts of one GPU different values for a setting that
///                           they share.
/// @throws invalid_argument  The GPU has too few multiprocessors for the requested parts.
/// @throws driver_error      The driver does not support green contexts.
/// @param nodes  The nodes of this machine. Tests pass others.
[[nodiscard]] std::vector<request> plan(choice& chosen, settings const& asked, bool best_effort,
                                        base::numa_nodes const& nodes = base::numa_nodes{});

/// Sets `host_node` of a request, or the reason why there is none.
void choose_host_node(request& asked, device const& where, base::numa_nodes const& nodes);

}  // namespace flotilla::context
