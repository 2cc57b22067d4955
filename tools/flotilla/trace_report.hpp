// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a trace says about waits, the critical path and idle devices.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace_model.hpp"

namespace tool {

/// Whether the slice is a task, and not a batch or a period of a thread.
[[nodiscard]] bool is_task(trace_slice const& slice);
/// Whether the slice is a task that had not ended when the trace ended. It ends with the trace.
[[nodiscard]] bool is_unfinished(trace_slice const& slice);
/// Returns the name of the slice's device, such as "device 0: …", or in a merged trace
/// "rank 1, device 0: …". Empty if it has none.
[[nodiscard]] std::string device_of(trace_model const& trace, trace_slice const& slice);

/// Returns the tasks with the longest time from the submit to the launch, the longest first.
[[nodiscard]] std::vector<std::size_t> longest_waits(trace_model const& trace, std::size_t count);

/// Returns a chain of tasks. The last one is the task that ended last, without those that are
/// unfinished. Before each task comes its predecessor that ended last.
[[nodiscard]] std::vector<std::size_t> critical_path(trace_model const& trace);

/// Returns for each task of a path how long, before its end was seen, no thread noticed anything on
/// its device: it launched nothing, and saw no end. Whether the task ran in this time, or had ended
/// and no thread looked, is not known. At most the time since the end of the task before it in the
/// path. -1: the task has no device.
[[nodiscard]] std::vector<std::int64_t> quiet_times(trace_model const& trace,
                                                    std::vector<std::size_t> const& path);

/// The times at which a device had work, as far as the trace knows.
struct device_use {
  struct period {
    std::int64_t begin;
    std::int64_t end;
  };
  std::string device;
  std::vector<period> busy;  // in order, without overlaps
  [[nodiscard]] std::int64_t busy_time() const noexcept;
  /// The periods between the busy ones.
  [[nodiscard]] std::vector<period> idle() const;
};
/// In the order of the names.
[[nodiscard]] std::vector<device_use> use_of_devices(trace_model const& trace);

/// @param count  The maximum number of lines of each list.
void print_report(std::ostream& out, trace_model const& trace, std::string const& file,
                  std::size_t count);

}  // namespace tool
