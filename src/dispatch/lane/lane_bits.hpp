// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of lanes.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {

/// Threads: as for a std::bitset.
class lane_bits {
 public:
  void insert(unsigned lane) noexcept { words_[lane / 64] |= bit(lane); }
  void erase(unsigned lane) noexcept { words_[lane / 64] &= ~bit(lane); }
  [[nodiscard]] bool empty() const noexcept { return (words_[0] | words_[1]) == 0; }
  /// Returns the lanes 0 to 63, among them all lanes for launches, as bits of a word.
  [[nodiscard]] std::uint64_t first_word() const noexcept { return words_[0]; }
  /// Calls visit(lane) for each lane of the set, until a call returns false. The call may erase the
  /// lane.
  /// @return false if a call has returned false.
  template <class Visit>
  bool visit(Visit&& visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1) {
        if (!visit(static_cast<unsigned>(word * 64 + std::countr_zero(left)))) { return false; }
      }
    }
    return true;
  }

 private:
  [[nodiscard]] static std::uint64_t bit(unsigned lane) noexcept {
    return std::uint64_t{1} << lane % 64;
  }

  static_assert(lane_layout::all_lanes <= 128, "lane_bits has two words");
  std::array<std::uint64_t, 2> words_{};
};

}  // namespace flotilla::dispatch
