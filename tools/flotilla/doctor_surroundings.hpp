// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What surrounds the process and its GPUs: the kernel module, daemons of the driver, the launcher
// of a job, and settings of the operating system.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "finding.hpp"

namespace tool {

/// Where the doctor looks. Tests give other places.
struct surroundings {
  std::filesystem::path root = "/";                  ///< the folder with proc, sys, run and tmp
  std::function<std::string(char const*)> variable;  ///< of the environment; empty if not set
  std::size_t visible_gpus = 0;                      ///< the GPUs that the driver shows
};

/// Examines the version of the kernel module, MPS, the persistence daemon, GPUs that a job or a
/// container hides, and NUMA balancing. Each finding that is not ok names a remedy.
void examine_surroundings(findings& into, surroundings const& around);

}  // namespace tool
