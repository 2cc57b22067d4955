#pragma once

#include <string>
#include <vector>

namespace tool {

/// Replaces this process by the program flotilla_bench in the same folder, with these arguments.
/// It is a separate program, so that neither the tool nor the library needs Google Benchmark.
/// @throws std::runtime_error  The program cannot be run; the message has its path and the reason.
[[noreturn]] void run_bench(std::vector<std::string> const& arguments);

}  // namespace tool
