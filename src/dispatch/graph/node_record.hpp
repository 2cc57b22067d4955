#pragma once
// A record for builtin_functions::update: what one node of its graph shall hold.

#include <array>
#include <cstdint>

namespace flotilla::dispatch {

/// The node's arguments follow the record; the next record begins at the next multiple of 16 bytes.
/// The kernel's parameters are the address of the first record, the number of records, and their
/// stride.
struct node_record {
  // Bits of `what`:
  static constexpr std::uint32_t set_arguments = 1;
  static constexpr std::uint32_t set_grid = 2;
  static constexpr std::uint32_t set_enabled = 4;
  static constexpr std::uint32_t enabled = 8;

  std::uint64_t node;  // CUgraphDeviceNode
  std::uint32_t what;  // 0: the node keeps what it holds
  std::array<std::uint32_t, 3> grid;
  std::uint32_t bytes;  // of the arguments
  std::uint32_t unused;

  static constexpr std::uint32_t max_argument_bytes = 256;
  /// The distance between two records in bytes. No record has more than `argument_bytes` bytes of
  /// arguments.
  [[nodiscard]] static constexpr std::uint32_t stride_for(std::uint32_t argument_bytes) noexcept {
    return static_cast<std::uint32_t>(sizeof(node_record)) + (argument_bytes + 15) / 16 * 16;
  }
};
static_assert(sizeof(node_record) == 32);

}  // namespace flotilla::dispatch
