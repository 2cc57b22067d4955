// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds programs that were started by the launcher of another MPI.

#include <flotilla/cluster/transport.hpp>

namespace flotilla::cluster_ranks {

/// @throws invalid_argument  The environment says that a launcher has started several processes,
///                           but the transport sees only one: the launcher belongs to another MPI
///                           than the program, which then runs several times as "rank 0 of 1".
void check_launcher(transport const& via);

}  // namespace flotilla::cluster_ranks
