#pragma once
// Whose callables a draining thread may run.

#include <cstdint>

namespace flotilla::dispatch {

/// A worker and `pump` run every callable. A thread that helps while it waits runs only callables
/// that it submitted itself and callables that a waiting thread demands.
struct helper_filter {
  std::uint32_t helper = 0;  // lower half of the helping thread's token; 0: no helper
};

}  // namespace flotilla::dispatch
