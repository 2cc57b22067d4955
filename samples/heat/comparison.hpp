// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the program is compared with.

#include <cstddef>

#include <flotilla/flotilla.hpp>

#include "field.hpp"

namespace heat {

struct comparison {
  std::size_t steps;
  std::size_t bands;  ///< of all devices
  float alpha;
  std::size_t repeated;  ///< see options
};

/// Returns the bytes that `steps` steps or copies of a field read and write, in GB.
[[nodiscard]] inline double gigabytes(field const& of, std::size_t steps) {
  return 2.0 * sizeof(float) * static_cast<double>(of.values.size()) * static_cast<double>(steps) /
         1e9;
}

/// Prints a table with medians of five runs: a kernel that copies, and the steps with flotilla and
/// with streams and events by hand, on one device and on all devices.
/// @return false if the results by hand differ from those of flotilla.
[[nodiscard]] bool compare(flotilla::runtime& rt, field const& start, comparison const& what);

}  // namespace heat
