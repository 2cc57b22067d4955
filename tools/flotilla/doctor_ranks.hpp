// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Under a launcher of a parallel job, such as mpirun or srun: which rank this process is.

#include "base/launch.hpp"
#include "doctor_surroundings.hpp"

namespace tool {

using flotilla::base::launch;

/// Examines what may differ between the ranks of a machine: the number of the rank, its processors
/// and its GPUs.
void examine_rank(findings& into, surroundings const& around, launch const& how);

}  // namespace tool
