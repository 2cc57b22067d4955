#pragma once

#include <cstdint>

namespace flotilla::dispatch {

/// Who drains. A worker and `pump` run every callable; a thread that helps while it waits runs those that it
/// submitted itself, and those that a waiter needs.
struct drainer {
  std::uint32_t helper = 0;  // token of the helping thread, cut; 0: no helper
};

}  // namespace flotilla::dispatch
