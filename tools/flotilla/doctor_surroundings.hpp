// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What surrounds the process and its GPUs: the kernel module, daemons of the driver, other
// processes, the launcher of a job, and settings and limits of the operating system.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <flotilla/device/driver_report.hpp>

#include "finding.hpp"

namespace tool {

/// Where the doctor looks. Tests give other places.
struct surroundings {
  std::filesystem::path root = "/";                  ///< the folder with proc, sys, run and tmp
  std::function<std::string(char const*)> variable;  ///< of the environment; empty if not set
  std::vector<std::string> gpus;                     ///< UUIDs of those that the driver shows
  int processors = 1;                                ///< that this process may use
  int all_processors = 1;                            ///< of the machine
  /// The soft limit of a resource, such as RLIMIT_NOFILE. RLIM_INFINITY: there is none.
  std::function<std::uint64_t(int)> limit;
  struct room {
    std::uint64_t free_bytes;
    std::uint64_t all_bytes;
  };
  /// The room of the file system of a folder; nothing if there is no such folder.
  std::function<std::optional<room>(std::filesystem::path const&)> room_in;
  pid_t process = 0;  ///< this process
};
/// Returns this machine.
[[nodiscard]] surroundings real_surroundings(flotilla::driver_report const& drivers);

/// Examines the version of the kernel module, MPS, the persistence daemon, GPUs that a job or a
/// container hides, other processes on the GPUs, and NUMA balancing. Each finding that is not ok
/// names a remedy.
/// @param ranks  The ranks of a parallel job on this machine.
void examine_surroundings(findings& into, surroundings const& around, int ranks);
/// Examines other processes that have opened GPUs. Without a GPU driver there is no finding.
void examine_other_processes(findings& into, surroundings const& around);
/// Examines the limits of the process and the shared memory of the machine.
void examine_limits(findings& into, surroundings const& around);

}  // namespace tool
