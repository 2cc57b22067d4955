// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which GPUs each rank of a machine uses.

#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Divides the GPUs of a machine among its ranks, so that each rank has about as many GPUs as the
/// others and no GPU has two ranks while another one has none. GPUs that only one rank sees go to
/// this rank. All ranks that pass the same lists agree. <flotilla/mpi.hpp> has a function that
/// gathers the lists by MPI.
///
/// Two ranks of a machine that share four GPUs get "cuda:0,2" and "cuda:1,3". Four ranks that share
/// two GPUs get "cuda:0", "cuda:1", "cuda:0" and "cuda:1".
///
/// If several ranks see a GPU, the local rank 0 logs one line that says which GPUs each rank has.
/// The line is a warning if a GPU has several ranks, because their contexts then take turns on it.
/// @param seen        For each rank of the machine: the UUIDs of the GPUs that it sees, in the
///                    order of `describe_drivers().devices`. May be empty.
/// @param local_rank  The index of this rank in `seen`.
/// @return for runtime_options::devices; empty, which means the default, if this rank sees no GPU.
/// @throws invalid_argument  `local_rank` is not an index of `seen`.
/// Threads: any. Blocks: never.
[[nodiscard]] FLOTILLA_EXPORT std::string share_devices(
    std::vector<std::vector<std::string>> const& seen, int local_rank);

}  // namespace v0_1
}  // namespace flotilla
