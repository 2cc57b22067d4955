// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Controls on two devices that can access each other's memory.

#include "plain_driver.hpp"

namespace flotilla::bench {

/// Returns the fixture for one producer on two devices. Its contexts have access to each other's
/// `cuMemAlloc` memory.
/// @throws not_available  There are fewer than two devices, or they are not peers.
[[nodiscard]] plain_driver& peer_driver();

}  // namespace flotilla::bench
