// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environment variable that turns ordered grids on and off.

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// Returns `tuned` with the minimum duration of FLOTILLA_ORDERED_GRIDS, if it is set: "off", or a
/// number of nanoseconds.
/// @throws unknown_setting  The variable has another value.
[[nodiscard]] tuning with_ordered_grids_of_environment(tuning tuned);

}  // namespace flotilla::dispatch
