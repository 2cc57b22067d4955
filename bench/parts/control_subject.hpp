// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace flotilla::bench {

/// What failed, in the errors of driver calls that a control makes.
inline constexpr char const* control_subject = "a control of the benchmark";

}  // namespace flotilla::bench
