// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_command.hpp"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "trace_merge.hpp"
#include "trace_reader.hpp"
#include "trace_report.hpp"
#include "trace_svg.hpp"

namespace tool {
namespace {

void write(std::string const& bytes, std::string const& file) {
  std::ofstream out{file, std::ios::binary};
  out << bytes;
  out.close();
  if (!out) {
    throw std::runtime_error("the trace '" + file +
                             "' cannot be written: " + std::generic_category().message(errno));
  }
}

/// Returns the traces as one.
trace_model merge(std::ostream& out, trace_request const& what) {
  std::vector<trace_part> parts;
  for (std::string const& file : what.files) {
    std::string bytes = bytes_of(file);
    trace_origin origin = decode_trace(bytes, file).origin;
    parts.push_back({file, std::move(bytes), std::move(origin)});
  }
  trace_set const all{std::move(parts)};
  all.describe(out);
  std::string const bytes = all.merged();
  if (!what.merged.empty()) { write(bytes, what.merged); }
  return decode_trace(bytes, "the merged trace");
}

}  // namespace

void print_traces(std::ostream& out, trace_request const& what) {
  bool const is_one = what.files.size() == 1;
  if (is_one && !what.merged.empty()) {
    throw std::runtime_error("--merged needs the traces of several ranks, but there is only '" +
                             what.files[0] + "'");
  }
  trace_model const trace = is_one ? read_trace(what.files[0]) : merge(out, what);
  std::string const name = is_one ? what.files[0] : std::to_string(what.files.size()) + " traces";
  print_report(out, trace, name, what.count);
  if (!what.svg.empty()) { draw_trace(trace, what.svg); }
}

}  // namespace tool
