// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The block distribution of a graph over devices: which device runs each task, and which values
// both devices need.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "task_graph.hpp"

namespace flotilla::bench {

inline constexpr int max_devices = 2;

class distribution {
 public:
  distribution() = default;
  /// Divides the points of the graph into `devices` blocks of neighboring points. Device 0 runs the
  /// tasks of the first block.
  distribution(task_graph const& graph, unsigned devices);

  /// Returns the device of task `index`.
  [[nodiscard]] unsigned device(std::size_t index) const { return devices_[index]; }
  /// Returns whether a task on another device depends on task `index`.
  [[nodiscard]] bool is_mirrored(std::size_t index) const { return mirrored_[index]; }

 private:
  std::vector<std::uint8_t> devices_;
  std::vector<bool> mirrored_;
};

}  // namespace flotilla::bench
