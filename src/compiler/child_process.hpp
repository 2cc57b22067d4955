// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a compiler as a child process.

#include <chrono>
#include <string>
#include <vector>

namespace flotilla::compiler {

struct child_result {
  bool succeeded;      ///< it ended with status 0
  bool was_timed_out;  ///< it was killed, because it took too long
  std::string output;  ///< what it wrote to stdout and stderr
};

/// Runs a program until it ends, and collects its output. The child is the leader of a process
/// group, so that a timeout also ends the children of a compiler. It has the environment of this
/// process, except variables that would change where a compiler searches for headers or in which
/// language it speaks. It inherits no open files.
/// @param arguments  The absolute path of the program, and its arguments.
/// @throws error  The program cannot be started.
/// Threads  any. Does not disturb, or depend on, the handling of SIGCHLD by the application.
[[nodiscard]] child_result run_program(std::vector<std::string> const& arguments,
                                       std::chrono::steady_clock::time_point deadline);

}  // namespace flotilla::compiler
