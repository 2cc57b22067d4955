// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_command.hpp"

#include "trace_reader.hpp"
#include "trace_report.hpp"
#include "trace_svg.hpp"

namespace tool {

void print_trace(std::ostream& out, std::string const& file, std::string const& svg,
                 std::size_t count) {
  trace_model const trace = read_trace(file);
  print_report(out, trace, file, count);
  if (!svg.empty()) { draw_trace(trace, svg); }
}

}  // namespace tool
