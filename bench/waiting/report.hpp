#pragma once
// What the program says of its rows.

#include <ostream>
#include <string>
#include <vector>

#include "measure.hpp"

namespace flotilla::bench {

struct report {
  std::vector<row> rows;
  bool on_gpus = false;
  std::string device;
  std::string driver;  // which, and why not the other
  std::string command;
};

/// What a share is to be at most.
struct target {
  std::string what;
  double share;
  double most;
  bool judged;  // on CPU devices a share while kernels run is theirs as well
};
[[nodiscard]] std::vector<target> targets_of(report const& of);

void print_rows(std::ostream& out, report const& of);
/// @throws std::runtime_error  The file cannot be written.
void write_rows(std::string const& file, report const& of);

}  // namespace flotilla::bench
