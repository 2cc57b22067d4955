// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tool {

/// Replaces this process with the program flotilla_bench in the same folder, with these arguments.
/// flotilla_bench is a separate program so that the tool does not need Google Benchmark.
/// @throws std::runtime_error  The program cannot be run. The message has the program's path and
///                             the reason.
[[noreturn]] void run_bench(std::vector<std::string> const& arguments);

}  // namespace tool
