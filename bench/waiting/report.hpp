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
  std::string driver;  // which driver, and why not the other
  std::string command;
};

/// A share and its maximum.
struct target {
  std::string what;
  double share;
  double max_share;
  bool judged;  // false: on CPU devices a share includes the kernels' own work
};
[[nodiscard]] std::vector<target> targets_of(report const& report);

void print_rows(std::ostream& out, report const& report);
/// @throws std::runtime_error  The file cannot be written.
void write_rows(std::string const& file, report const& report);

}  // namespace flotilla::bench
