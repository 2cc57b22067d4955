// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the launcher of a parallel job, such as mpirun or srun, has started this process.

#include <functional>
#include <span>
#include <string>

namespace flotilla::base {

/// The environment variables in which a launcher tells a process what it is.
struct launch_variables {
  char const* launcher;
  char const* rank;
  char const* ranks;
  char const* local_rank;
  char const* local_ranks;
};
/// The launchers that are known. The first of them that has set a variable counts: jobs of Slurm
/// may contain the mpirun of an MPI.
[[nodiscard]] std::span<launch_variables const> known_launchers() noexcept;

/// Without a launcher, the process is the only rank.
struct launch {
  std::string launcher;  ///< its name; empty if there is none
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;   ///< among the ranks of this machine
  int local_ranks = 1;  ///< also in the script of a job of Slurm, which is no rank itself
};
/// @param variable  Returns the value of an environment variable; empty if it is not set.
[[nodiscard]] launch find_launch(std::function<std::string(char const*)> const& variable);
/// The same for the environment of this process.
[[nodiscard]] launch find_launch();

}  // namespace flotilla::base
