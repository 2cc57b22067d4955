#pragma once
// What own_functions::updater reads: what a node of its graph is to hold.

#include <array>
#include <cstdint>

namespace flotilla::dispatch {

/// Its arguments follow it; the next record is a multiple of 16 bytes further on. An updater's parameters are the address of
/// the first record, how many there are, and how far apart.
struct node_record {
  static constexpr std::uint32_t set_arguments = 1;
  static constexpr std::uint32_t set_grid = 2;
  static constexpr std::uint32_t set_enabled = 4;
  static constexpr std::uint32_t enabled = 8;

  std::uint64_t node;   // CUgraphDeviceNode
  std::uint32_t what;   // of the above; 0: it holds what it held
  std::array<std::uint32_t, 3> grid;
  std::uint32_t bytes;  // of the arguments
  std::uint32_t unused;

  static constexpr std::uint32_t most_argument_bytes = 256;
  /// From one record to the next, where none has more.
  [[nodiscard]] static constexpr std::uint32_t stride_for(std::uint32_t argument_bytes) noexcept {
    return static_cast<std::uint32_t>(sizeof(node_record)) + (argument_bytes + 15) / 16 * 16;
  }
};
static_assert(sizeof(node_record) == 32);

}  // namespace flotilla::dispatch
