// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace flotilla::bench {

/// The number of tasks that are submitted while no thread drains the device. So many tasks fit into
/// flotilla's window and into the queue of the driver.
inline constexpr std::int64_t burst = 512;

}  // namespace flotilla::bench
