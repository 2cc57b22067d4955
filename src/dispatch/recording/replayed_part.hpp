#pragma once
// The contents of a slot that holds a replay.

#include <cstdint>

#include "dispatch/recording/change_list.hpp"

namespace flotilla::dispatch {

struct replayed_part {
  std::uint32_t part = 0;                      // its index in recorded_parts
  std::uint32_t changes = change_lists::none;  // the change list to apply before the launch
  // For this many tasks at the beginning of `after` only the order counts, not whether they failed.
  std::uint32_t order_only = 0;
};

}  // namespace flotilla::dispatch
