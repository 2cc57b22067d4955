// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runtime, the kernel and the memory of the variants that use flotilla.

#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "distribution.hpp"
#include "task_graph.hpp"

namespace flotilla::bench {

/// One device, or two devices that have access to each other's memory.
class flotilla_devices {
 public:
  /// @param workers  See runtime_options::workers.
  /// @throws std::runtime_error  The machine has too few devices, or they are not peers.
  flotilla_devices(int count, int workers);

  /// Makes the memory large enough for the values of the tasks of `graph`.
  void fit(task_graph const& graph);
  void clear();
  /// Reads the values of all tasks of `graph`, for which `fit` was called.
  void read(std::vector<std::uint64_t>& values);
  /// Returns the launch of a task of the graph for which `fit` was called.
  [[nodiscard]] launch task(task_graph const& graph, std::size_t index);
  [[nodiscard]] device_ordinal device(std::size_t index) const {
    return device_ordinal{distribution_.device(index)};
  }

  runtime rt;

 private:
  program const program_;
  kernel<pattern_argument>::configured const on_one_;
  kernel<pattern_argument, unsigned long long*>::configured const on_two_;
  std::vector<device_buffer<unsigned long long>> values_;  // one for each device
  distribution distribution_;
};

}  // namespace flotilla::bench
