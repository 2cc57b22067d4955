// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "distribution.hpp"

namespace flotilla::bench {

distribution::distribution(task_graph const& graph, unsigned devices)
    : mirrored_(graph.tasks().size(), false) {
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    std::uint64_t const point = graph.tasks()[i].point;
    devices_.push_back(static_cast<std::uint8_t>(point * devices / graph.points()));
    for (std::uint32_t const each : graph.predecessors(i)) {
      if (devices_[each] != devices_[i]) { mirrored_[each] = true; }
    }
  }
}

}  // namespace flotilla::bench
