// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which callables a draining thread may run.

#include <cstdint>

namespace flotilla::dispatch {

/// Selects the callables that a draining thread may run. A worker and `pump` run all callables. A
/// waiting thread runs only the callables that it has submitted itself, and the callables that some
/// thread waits for.
struct helper_filter {
  std::uint32_t helper = 0;  // lower half of the helping thread's token; 0: all callables
};

}  // namespace flotilla::dispatch
