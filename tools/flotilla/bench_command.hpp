#pragma once

#include <string>
#include <vector>

namespace tool {

/// Becomes the program flotilla_bench that lies beside this one, with these arguments: does not
/// return. A program of its own, so that neither the tool nor the library needs Google Benchmark.
/// @throws std::runtime_error  There is none, or it cannot be run; says where it was looked for.
[[noreturn]] void run_bench(std::vector<std::string> const& arguments);

}  // namespace tool
