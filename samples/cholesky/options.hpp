// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line.

#include <cstddef>
#include <limits>
#include <string>

namespace cholesky {

// Exit statuses other than 0 (README.md describes them).
constexpr int wrong = 1;
constexpr int not_done = 2;

struct options {
  std::size_t size = 1024;
  std::string matrix_file, points_file, output;
  double length = 1;
  std::size_t tile = 0;  // 0: chosen from the size of the matrix
  std::size_t panel = 0;
  std::string type = "f64", operations = "auto", start = "host", devices;
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  unsigned repeat = 1;
  bool compares = false, compares_mg = false, checks = true, uses_mpi = false;
  std::size_t mg_block = 512;
};

/// What `parse` found. If `exit_status` is not negative, the program must end with it.
struct command_line {
  options chosen{};
  int exit_status = -1;
};

/// Reads the command line. Prints the help, or what is wrong.
[[nodiscard]] command_line parse(int count, char** arguments);

}  // namespace cholesky
