// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environment variable that says when dependent tasks share ordered grids.

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// Returns `tuned` with the value of FLOTILLA_ORDERED_GRIDS, if it is set: never, if_faster or
/// always.
/// @throws unknown_setting  The variable has another value.
[[nodiscard]] tuning with_ordered_grids_of_environment(tuning tuned);

}  // namespace flotilla::dispatch
