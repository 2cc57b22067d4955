#pragma once
// The contents of a replay's slot.

#include <cstdint>

#include "dispatch/recording/change_list.hpp"

namespace flotilla::dispatch {

struct replayed_part {
  std::uint32_t part = 0;                      // index in recorded_parts
  std::uint32_t changes = change_lists::none;  // index of the change list to apply
  // The first `order_only` tasks of `after` determine only the order. If they fail, the replay
  // still runs.
  std::uint32_t order_only = 0;
};

}  // namespace flotilla::dispatch
