// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace tool {

/// Prints the longest waits, the critical path and the idle times of a trace.
/// @param svg    If not empty, the file of a picture to draw.
/// @param count  The maximum number of lines of each list.
/// @throws std::runtime_error  A file cannot be read or written, or is no trace.
void print_trace(std::ostream& out, std::string const& file, std::string const& svg,
                 std::size_t count);

}  // namespace tool
