// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The options of a flow.

#include <cstddef>
#include <limits>
#include <optional>

#include <flotilla/settings/explanations.hpp>

namespace flotilla {
inline namespace v0_1 {

struct flow_options {
  /// How many bytes of memory the flow may have on each device. It does not include buffers of the
  /// application. If the memory does not suffice for the data of the next task, the flow evicts
  /// other data from the device: the data that were not used for the longest time, and among them
  /// data that also have a valid copy elsewhere first. Threads that submit at the same time can
  /// exceed the limit by one block each for a moment. Without a limit, the flow uses the memory
  /// that the device has.
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  /// Keeps a description of each task for `flow::dot`. Costs memory for each task, and tasks have
  /// more predecessors, because those that have ended are named too.
  bool keeps_graph = false;
  /// What the flow explains on stderr. If empty, the environment variable FLOTILLA_EXPLAIN says it.
  std::optional<explanations> explain{};
};

}  // namespace v0_1
}  // namespace flotilla
