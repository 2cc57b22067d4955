#pragma once
// The multiprocessors of a CPU device. A multiprocessor is only a number. Each context may use some
// of these numbers, and the blocks of a grid get the numbers of their context in turn. A kernel
// reads the number of its block with flotilla_multiprocessor(). A CPU device has as many
// multiprocessors as an H200, so that it can be split into the same parts.

#include <cstdint>
#include <vector>

namespace flotilla::cpu_driver {

/// Numbers in [0, properties::multiprocessors), ascending; never empty.
using multiprocessor_set = std::vector<std::uint16_t>;

/// All multiprocessors of a device.
[[nodiscard]] multiprocessor_set const& all_multiprocessors();

/// The multiprocessors for the next blocks. Only the device thread uses this object.
struct block_placement {
  multiprocessor_set const* allowed = &all_multiprocessors();
  std::uint64_t next = 0;  // number of blocks placed so far; the next grid continues there
};

}  // namespace flotilla::cpu_driver
