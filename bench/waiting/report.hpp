// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of the program.

#include <ostream>
#include <string>
#include <vector>

#include "measure.hpp"

namespace flotilla::bench {

struct report {
  std::vector<row> rows;
  bool on_gpus = false;
  std::string device;
  std::string driver;  // text that names the chosen driver and the reason for the choice
  std::string command;
};

/// A measured share and its allowed maximum.
struct target {
  std::string what;
  double share;
  double max_share;
  bool judged;  // false on CPU devices if the share includes the processor time of kernels
};
[[nodiscard]] std::vector<target> targets_of(report const& report);

void print_rows(std::ostream& out, report const& report);
/// Writes the report as JSON. @throws std::runtime_error  The file cannot be written.
void write_rows(std::string const& file, report const& report);

}  // namespace flotilla::bench
