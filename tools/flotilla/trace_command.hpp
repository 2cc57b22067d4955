// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace tool {

struct trace_request {
  std::vector<std::string> files{};
  std::string svg{};       ///< if not empty, the file of a picture to draw
  std::string merged{};    ///< if not empty, the file of a trace with the tracks of all `files`
  std::size_t count = 10;  ///< the maximum number of lines of each list
};

/// Prints the longest waits, the critical path and the idle times of a trace, or of several traces
/// on one time axis.
/// @throws std::runtime_error  A file cannot be read or written, or is no trace, or the traces do
///                             not belong together.
void print_traces(std::ostream& out, trace_request const& what);

}  // namespace tool
