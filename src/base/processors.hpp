// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many processors this process may use.

namespace flotilla::base {

/// Returns the number of processors in the affinity mask of the process, at least 1. Launchers of
/// HPC jobs and `taskset` set this mask; std::thread::hardware_concurrency ignores it. Only the
/// first call determines the number, because that takes a system call.
[[nodiscard]] unsigned usable_processors() noexcept;

}  // namespace flotilla::base
