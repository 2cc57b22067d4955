// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Merges the traces of several ranks or runtimes into one.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace_clock.hpp"
#include "trace_model.hpp"

namespace tool {

/// One of the traces to merge.
struct trace_part {
  std::string file;
  std::string bytes;
  trace_origin origin;
};

class trace_set {
 public:
  /// @throws std::runtime_error  Two traces are of one rank or of different runs, or a trace was
  ///                             merged before. The message names the files.
  explicit trace_set(std::vector<trace_part> parts);

  /// Prints which trace is which rank, and how well its clock is known.
  void describe(std::ostream& out) const;
  /// Returns a trace with the tracks of all parts, and all times on one clock. Each part is a
  /// process whose name begins with "rank N: ", or with "file N: " if its rank is not known.
  [[nodiscard]] std::string merged() const;

 private:
  [[nodiscard]] std::string label(std::size_t part) const;

  std::vector<trace_part> parts_;
  std::vector<trace_clock> clocks_;  // of each part
  std::string without_clock_;        // a file that does not know the time of rank 0
};

}  // namespace tool
