// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies the packets of a trace into a trace that has several parts.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tool {

/// The place of a part in a merged trace.
struct trace_place {
  std::size_t index = 0;  // of the part
  std::size_t parts = 1;
  std::string label;                                // the name of its process begins with it
  std::function<std::uint64_t(std::int64_t)> time;  // on the clock of the merged trace
  std::string clock_snapshot;                       // of that clock
};

/// Copies all packets. Numbers that mean something else in another part get other values; those of
/// texts need not, because each part is a sequence of its own.
void copy_packets(std::string const& bytes, trace_place const& place, std::string& to);

/// Returns the first snapshot of the clocks in a trace.
[[nodiscard]] std::string clock_snapshot_of(std::string const& bytes);

}  // namespace tool
