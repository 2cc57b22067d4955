// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The multiprocessors of a CPU device. A multiprocessor is only a number. Each context has a set of
// these numbers, which the driver assigns to the blocks of a grid in turn. A kernel reads the
// number of its block with flotilla_multiprocessor(). A CPU device has as many multiprocessors as
// an H200, so that the CPU device can be split into the same parts.

#include <cstdint>
#include <vector>

namespace flotilla::cpu_driver {

/// Numbers in [0, properties::multiprocessors), ascending; never empty.
using multiprocessor_set = std::vector<std::uint16_t>;

/// All multiprocessors of a device.
[[nodiscard]] multiprocessor_set const& all_multiprocessors();

/// Chooses the multiprocessors for the next blocks. Only the device thread uses this object.
struct block_placement {
  multiprocessor_set const* allowed = &all_multiprocessors();
  std::uint64_t next = 0;  // number of blocks placed so far, over all grids
};

}  // namespace flotilla::cpu_driver
