// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_merge.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "trace_copier.hpp"

namespace tool {
namespace {

void check_pair(trace_part const& a, trace_part const& b) {
  std::string const both = "'" + a.file + "' and '" + b.file + "' ";
  trace_origin const &one = a.origin, &other = b.origin;
  if (one.rank >= 0 && one.rank == other.rank) {
    throw std::runtime_error(both + "are both of rank " + std::to_string(one.rank) +
                             "; name one trace of each rank");
  }
  if (one.run != 0 && other.run != 0 && one.run != other.run) {
    throw std::runtime_error(both + "are of different runs of the program");
  }
}

}  // namespace

trace_set::trace_set(std::vector<trace_part> parts) : parts_(std::move(parts)) {
  std::stable_sort(parts_.begin(), parts_.end(), [](trace_part const& a, trace_part const& b) {
    return a.origin.rank < b.origin.rank;
  });
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    trace_origin const& one = parts_[i].origin;
    if (one.parts > 1) {
      throw std::runtime_error("'" + parts_[i].file + "' was merged from " +
                               std::to_string(one.parts) +
                               " traces before; name the traces of the ranks instead");
    }
    if (i != 0) { check_pair(parts_[i - 1], parts_[i]); }
    if (one.answers.empty()) { without_clock_ = parts_[i].file; }
  }
  for (trace_part const& each : parts_) {
    clocks_.push_back(without_clock_.empty() ? trace_clock{each.origin.answers}
                                             : trace_clock{each.origin.begun});
  }
}

std::string trace_set::label(std::size_t part) const {
  int const rank = parts_[part].origin.rank;
  return rank >= 0 ? "rank " + std::to_string(rank) : "file " + std::to_string(part + 1);
}

void trace_set::describe(std::ostream& out) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    out << label(i) << ": " << parts_[i].file;
    if (without_clock_.empty() && clocks_[i].max_error() != 0) {
      out << ", clock known to " << std::fixed << std::setprecision(1)
          << static_cast<double>(clocks_[i].max_error()) / 1e3 << " us";
    }
    out << '\n';
  }
  if (!without_clock_.empty()) {
    out << "note: '" << without_clock_
        << "' has no time of rank 0, so the clocks are matched by the time of day. On different "
           "machines, it may differ by milliseconds\n";
  }
}

std::string trace_set::merged() const {
  std::size_t first = 0;  // the part that begins first
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    if (clocks_[i](0) < clocks_[first](0)) { first = i; }
  }
  std::int64_t const begin = clocks_[first](0);
  std::string const snapshot = clock_snapshot_of(parts_[first].bytes);
  std::string made;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    auto const time = [&, i](std::int64_t when) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(clocks_[i](when) - begin, 0));
    };
    copy_packets(parts_[i].bytes, {i, parts_.size(), label(i), time, snapshot}, made);
  }
  return made;
}

}  // namespace tool
