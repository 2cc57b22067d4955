// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives data memory at a place.

#include <vector>

#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/memory/place_memory.hpp"

namespace flotilla::flows {

/// Gives a replica a block that the flow already has, or, to a tile, its part of the memory of the
/// whole data. The replica must have no memory.
/// @param memories  By place::index.
/// @return no_memory if there is no such block.
[[nodiscard]] inline obstacle give_memory(std::vector<place_memory>& memories, detail::datum& which,
                                          place where) {
  replica& here = which.at(where);
  if (!which.is_inside_whole(where)) {
    here.memory = memories[where.index()].take(which.bytes);
    if (here.memory.exists()) { return {}; }
    return {obstacle::kinds::no_memory, where, which.bytes, &which};
  }
  block const& whole = which.whole->at(where).memory;
  if (!whole.exists()) {
    if (obstacle const why = give_memory(memories, *which.whole, where)) { return why; }
  }
  here.memory = {.address = whole.address +
                            which.whole->shape.offset(which.first, which.whole->pitch_at(where)),
                 .reach = whole.reach,
                 .kind = whole.kind,
                 .last_users = whole.last_users};
  return {};
}

}  // namespace flotilla::flows
