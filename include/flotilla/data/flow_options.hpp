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
  /// How many bytes of device memory the flow may allocate on each device. Buffers of the
  /// application do not count. If the limit is reached, the flow evicts data that the next task
  /// does not use: data that were not used for a long time, and among them first data that also
  /// have a valid copy elsewhere. The flow can exceed the limit for some time: by one block for
  /// each thread that submits, and by the blocks that it has given up for data of another size,
  /// until the tasks have ended that use them. The default is all memory that the device has.
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  /// When to copy data to the host ahead of need, as fractions of `memory_limit`, or of the memory
  /// of the device if it is less. If the data on a device take more than `high_watermark`, the flow
  /// copies those to the host that it would evict next, until it could evict down to
  /// `low_watermark` without further copies. It does so when a task needs new memory, for at most
  /// 16 data each time, and only for data that have memory on the host already. An eviction then
  /// need not wait for a copy. But if a task changes the data again, they are copied again. If
  /// `high_watermark` is 1, this begins when the limit is reached. It must be true that
  /// 0 < low_watermark <= high_watermark <= 1.
  double low_watermark = 0.875, high_watermark = 1;
  /// Keeps a description of each task for `flow::dot`. Costs memory for each task, and tasks have
  /// more predecessors, because those that have ended are named too.
  bool keeps_graph = false;
  /// What the flow explains on stderr. If empty, the environment variable FLOTILLA_EXPLAIN says it.
  std::optional<explanations> explain{};
};

}  // namespace v0_1
}  // namespace flotilla
