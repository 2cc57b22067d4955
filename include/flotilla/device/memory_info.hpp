// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The free and total memory of a device.

#include <cstddef>

namespace flotilla {
inline namespace v0_1 {

/// The memory of a device in bytes, as reported by the driver.
struct memory_info {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

}  // namespace v0_1
}  // namespace flotilla
