// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A record that describes the new contents of one graph node. The kernel builtin_functions::update
// reads it.

#include <array>
#include <cstdint>

namespace flotilla::dispatch {

/// The header of a record. The kernel arguments of the node follow the header. The next record
/// begins at the next multiple of 16 bytes. The parameters of the updating kernel are the address
/// of the first record, the number of records, and the stride of the records.
struct node_record {
  // Bits of `what`.
  static constexpr std::uint32_t set_arguments = 1;
  static constexpr std::uint32_t set_grid = 2;
  static constexpr std::uint32_t set_enabled = 4;
  static constexpr std::uint32_t enabled = 8;

  std::uint64_t node;  // CUgraphDeviceNode
  std::uint32_t what;  // 0: the node is not changed
  std::array<std::uint32_t, 3> grid;
  std::uint32_t bytes;  // size of the arguments
  std::uint32_t unused;

  static constexpr std::uint32_t max_argument_bytes = 256;
  /// Returns the stride in bytes of records with at most `argument_bytes` bytes of arguments.
  [[nodiscard]] static constexpr std::uint32_t stride_for(std::uint32_t argument_bytes) noexcept {
    return static_cast<std::uint32_t>(sizeof(node_record)) + (argument_bytes + 15) / 16 * 16;
  }
};
static_assert(sizeof(node_record) == 32);

}  // namespace flotilla::dispatch
