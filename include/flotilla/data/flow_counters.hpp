// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a flow has done on one device.

#include <cstddef>
#include <cstdint>

namespace flotilla {
inline namespace v0_1 {

/// All counters except `allocated_bytes` only grow. Copies are counted when they are submitted.
struct flow_counters {
  std::uint64_t bytes_from_host = 0;     ///< copied from the host to the device
  std::uint64_t bytes_from_devices = 0;  ///< copied from other devices to the device
  std::uint64_t bytes_to_host = 0;       ///< copied from the device to the host
  /// How often a task read or updated data whose copy on the device was valid, or was not. Uses by
  /// `prefetch_to` count too.
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;      ///< how often data lost their memory on the device to others
  std::uint64_t write_backs = 0;    ///< copies to the host that were made to evict data
  std::size_t allocated_bytes = 0;  ///< memory that the flow has on the device now
};

}  // namespace v0_1
}  // namespace flotilla
