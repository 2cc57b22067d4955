// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include <flotilla/error/error.hpp>

#include "base/launch.hpp"

namespace flotilla::cluster_ranks {

void check_launcher(transport const& via) {
  if (via.world_ranks != 1) { return; }
  for (base::launch_variables const& each : base::known_launchers()) {
    char const* const name = each.ranks;
    char const* const text = std::getenv(name);
    if (text == nullptr) { continue; }
    int started = 0;
    std::from_chars(text, text + std::strlen(text), started);
    if (started < 2) { continue; }
    throw invalid_argument("a launcher has started " + std::to_string(started) + " processes (" +
                           name + "), but the program's MPI (" + via.library +
                           ") sees only this one: the launcher belongs to another MPI; use the "
                           "mpirun or mpiexec of the MPI with which the program was built, or srun "
                           "with --mpi=pmix for Open MPI or --mpi=pmi2 for MPICH");
  }
}

}  // namespace flotilla::cluster_ranks
