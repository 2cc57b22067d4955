// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/worker_processes.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace flotilla::test {

std::vector<pid_t> workers_of_this_process() {
  std::vector<pid_t> found;
  for (auto const& each : std::filesystem::directory_iterator{"/proc"}) {
    std::ifstream file{each.path() / "stat"};
    std::string pid, name, state, parent;
    if (!(file >> pid >> name >> state >> parent)) { continue; }
    if (name.starts_with("(flotilla-worke") && parent == std::to_string(::getpid()) &&
        state != "Z") {
      found.push_back(static_cast<pid_t>(std::stol(pid)));
    }
  }
  return found;
}

}  // namespace flotilla::test
