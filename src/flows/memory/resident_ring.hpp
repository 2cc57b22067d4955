// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that have memory of a flow at one place, and the choice of the data to evict.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// Chooses victims with the clock algorithm: a hand goes around the ring, passes data that were
/// used since its last visit, and stops at others. So it approximates the order of the last use,
/// and a use costs one store. Threads: the caller holds the flow's mutex.
class resident_ring {
 public:
  explicit resident_ring(place where) noexcept : where_(where) {}

  void add(detail::datum& which) {
    all_.push_back(&which);
    which.at(where_).position = all_.size() - 1;
  }
  /// Does nothing if the data are not in the ring.
  void remove(detail::datum& which) noexcept {
    std::size_t const position = std::exchange(which.at(where_).position, replica::not_resident);
    if (position == replica::not_resident) { return; }
    detail::datum* const last = all_.back();
    all_.pop_back();
    if (last == &which) { return; }
    all_[position] = last;
    last->at(where_).position = position;
  }

  /// Returns the next data to evict; null if there are none.
  /// @param may_go    may_go(datum&): whether the data may be evicted.
  /// @param is_clean  is_clean(datum&): whether evicting the data needs no copy. Clean data are
  ///                  preferred if the hand finds some within a few steps.
  template <class MayGo, class IsClean>
  [[nodiscard]] detail::datum* next_victim(MayGo const& may_go, IsClean const& is_clean) noexcept {
    constexpr std::size_t steps_for_clean = 8;
    detail::datum* dirty = nullptr;
    std::size_t since_dirty = 0;
    // After one round, no data count as used. So two rounds look at all data.
    for (std::size_t steps = 2 * all_.size(); steps != 0 && since_dirty < steps_for_clean;
         --steps) {
      if (hand_ >= all_.size()) { hand_ = 0; }
      detail::datum& each = *all_[hand_++];
      if (dirty != nullptr) { ++since_dirty; }
      if (!may_go(each)) { continue; }
      if (std::exchange(each.at(where_).was_used, false)) { continue; }
      if (is_clean(each)) { return &each; }
      if (dirty == nullptr) { dirty = &each; }
    }
    return dirty;
  }
  /// Calls look(datum&) for the data that the hand will reach next, at most `count`, until the call
  /// returns false.
  template <class Look>
  void look_ahead(std::size_t count, Look const& look) const {
    for (std::size_t i = 0; i < std::min(count, all_.size()); ++i) {
      detail::datum& each = *all_[(hand_ + i) % all_.size()];
      if (!look(each)) { return; }
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  place const where_;
  std::vector<detail::datum*> all_;
  std::size_t hand_ = 0;
};

}  // namespace flotilla::flows
