// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line.

#include <cstddef>
#include <limits>
#include <string>

namespace heat {

struct options {
  std::string devices{};
  std::size_t bands = 0;  ///< 0: four for each device
  std::size_t steps = 100;
  std::size_t repeated = 0;  ///< steps of an iteration of flow::repeat; 0: no iterations
  std::size_t rows = 1024, columns = 1024;  ///< of a generated field
  float alpha = 0.25f;
  std::string input{}, output{};  ///< empty: a generated field, no picture
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  bool compares = false, verifies = false, uses_mpi = false;
};

/// What `parse` found. If `exit_status` is not negative, the program must end with it.
struct command_line {
  options chosen{};
  int exit_status = -1;
};

/// Reads the command line. Prints the help, or what is wrong.
[[nodiscard]] command_line parse(int count, char** arguments);

}  // namespace heat
