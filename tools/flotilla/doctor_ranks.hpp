// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Under a launcher of a parallel job, such as mpirun or srun: which rank this process is.

#include <string>

#include "doctor_surroundings.hpp"

namespace tool {

/// How a launcher has started this process. Without a launcher, it is the only rank.
struct launch {
  std::string launcher;  ///< its name; empty if there is none
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;   ///< among the ranks of this machine
  int local_ranks = 1;  ///< also in the script of a job of Slurm, which is no rank itself
};
[[nodiscard]] launch find_launch(surroundings const& around);

/// Examines what may differ between the ranks of a machine: the number of the rank, its processors
/// and its GPUs.
void examine_rank(findings& into, surroundings const& around, launch const& how);

}  // namespace tool
