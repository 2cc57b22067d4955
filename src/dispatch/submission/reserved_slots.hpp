// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Free slots that belong to a reservation.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// The slots of several windows. Threads: as for a std::vector.
class reserved_slots {
 public:
  reserved_slots() noexcept = default;
  explicit reserved_slots(std::vector<slot_address> slots) noexcept : slots_(std::move(slots)) {}

  [[nodiscard]] std::size_t left() const noexcept { return slots_.size(); }
  [[nodiscard]] std::span<slot_address const> all() const noexcept { return slots_; }
  /// Returns a slot of this place, or no_slot if there is none.
  /// @param place  A device index, or task_table::shared_place().
  [[nodiscard]] slot_address find(unsigned place) const noexcept {
    auto const found = std::find_if(slots_.rbegin(), slots_.rend(),
                                    [place](slot_address each) { return each >> 16 == place; });
    return found == slots_.rend() ? no_slot : *found;
  }
  void remove(slot_address slot) noexcept {
    *std::find(slots_.begin(), slots_.end(), slot) = slots_.back();
    slots_.pop_back();
  }

 private:
  std::vector<slot_address> slots_;
};

}  // namespace flotilla::dispatch
