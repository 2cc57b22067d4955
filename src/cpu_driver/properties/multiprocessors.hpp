#pragma once
// The multiprocessors of a CPU device. They are numbers: each block of a grid is given one of those
// that its context may use, in turn, and finds it by flotilla_multiprocessor(). As many as an H200
// has, so that a device splits into parts as that one does.

#include <cstdint>
#include <vector>

namespace flotilla::cpu_driver {

/// Numbers in [0, properties::multiprocessors), ascending; never empty.
using multiprocessor_set = std::vector<std::uint16_t>;

/// Those of a whole device.
[[nodiscard]] multiprocessor_set const& all_multiprocessors();

/// Where the next blocks go. Belongs to the device thread.
struct block_placement {
  multiprocessor_set const* allowed = &all_multiprocessors();
  std::uint64_t next = 0;  // blocks placed so far: consecutive grids go on around the device
};

}  // namespace flotilla::cpu_driver
