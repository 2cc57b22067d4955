// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "bench_command.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <system_error>

namespace tool {

void run_bench(std::vector<std::string> const& arguments) {
  std::filesystem::path const program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "flotilla_bench";
  std::string name = program.string();
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv{name.data()};
  for (std::string& each : copies) { argv.push_back(each.data()); }
  argv.push_back(nullptr);
  std::cout.flush();
  execv(name.c_str(), argv.data());
  // Reached only if execv failed.
  std::string const why = std::generic_category().message(errno);
  throw std::runtime_error{
      "cannot run " + name + ": " + why +
      ". The program must be in the folder of the tool 'flotilla'. To build it, configure with "
      "-D FLOTILLA_BUILD_BENCHES=ON"};
}

}  // namespace tool
