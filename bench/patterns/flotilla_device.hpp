// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runtime, the kernel and the memory of the variants that use flotilla.

#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "task_graph.hpp"

namespace flotilla::bench {

class flotilla_device {
 public:
  /// @param workers  See runtime_options::workers.
  explicit flotilla_device(int workers);

  /// Makes the memory large enough for the values of the tasks of `graph`.
  void fit(task_graph const& graph);
  void clear();
  void read(std::vector<std::uint64_t>& values);
  [[nodiscard]] launch task(task_graph const& graph, std::size_t index);

  runtime rt;

 private:
  kernel<pattern_argument>::configured kernel_;
  device_buffer<unsigned long long> values_;
};

}  // namespace flotilla::bench
