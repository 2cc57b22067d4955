// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The option --mpi of a sample.

#include <functional>
#include <string>

#include "team.hpp"

namespace samples {

/// Starts MPI, calls `program` on each rank, and ends MPI. Prints "rank R done" if the result is 0.
/// Prints the exception if `program` throws, and then lets the other ranks end, too.
/// @param name     Of the program, for error messages.
/// @param devices  Of this rank, as in FLOTILLA_DEVICES. If empty, the ranks of a machine share its
///                 GPUs.
/// @return what `program` returns, or `not_done` after an exception.
/// @throws std::runtime_error  The sample was built without MPI.
[[nodiscard]] int run_over_mpi(std::string const& name, std::string const& devices,
                               std::function<int(team const&)> const& program, int not_done);

}  // namespace samples
