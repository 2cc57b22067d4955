// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which NUMA node the threads and the memory of a device prefer.

#include <string>

#include <flotilla/runtime.hpp>

namespace tool {

/// Returns the node of the device, and whether workers and pinned memory prefer it, or else why
/// they do not.
[[nodiscard]] inline std::string numa_text(flotilla::runtime const& runtime,
                                           flotilla::device const& one) {
  std::string const node = one.numa_node < 0 ? "unknown" : std::to_string(one.numa_node);
  for (flotilla::setting_outcome const& each : runtime.report_settings(one).outcomes) {
    if (each.name != "numa_placement") { continue; }
    if (each.granted == "true") { return node + "; workers and pinned memory prefer it"; }
    return node + "; no preference: " +
           (each.note.empty() ? "the setting 'numa_placement' is false" : each.note);
  }
  return node;
}

}  // namespace tool
