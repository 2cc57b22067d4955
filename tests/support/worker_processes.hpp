// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The worker processes of isolated devices.

#include <sys/types.h>

#include <vector>

namespace flotilla::test {

/// Returns the worker processes of this process that are alive, spares included.
[[nodiscard]] std::vector<pid_t> workers_of_this_process();

}  // namespace flotilla::test
