#pragma once

#include <cstdint>

namespace flotilla::bench {

/// Of all producers together: four windows of one device, so that producers meet a full one, and so
/// many that the last tasks, when nothing is queued any more, do not count. A multiple of every
/// count of producers.
inline constexpr std::int64_t flood_tasks = 65536;

}  // namespace flotilla::bench
