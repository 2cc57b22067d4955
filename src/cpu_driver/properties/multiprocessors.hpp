#pragma once
// The multiprocessors of a CPU device. They are only numbers: the blocks of a grid get the numbers
// that their context may use in turn, and flotilla_multiprocessor() returns a block's number. There
// are as many as on an H200, so that a device splits into the same parts.

#include <cstdint>
#include <vector>

namespace flotilla::cpu_driver {

/// Numbers in [0, properties::multiprocessors), ascending; never empty.
using multiprocessor_set = std::vector<std::uint16_t>;

/// All multiprocessors of a device.
[[nodiscard]] multiprocessor_set const& all_multiprocessors();

/// The multiprocessors that the next blocks get. Belongs to the device thread.
struct block_placement {
  multiprocessor_set const* allowed = &all_multiprocessors();
  std::uint64_t next = 0;  // blocks placed so far: a grid continues where the last one ended
};

}  // namespace flotilla::cpu_driver
