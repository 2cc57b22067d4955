// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives out parts of a range of addresses.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace flotilla::isolated {

/// First fit, in whole units. Not thread-safe.
class address_space {
 public:
  address_space(std::uintptr_t start, std::size_t bytes, std::size_t unit)
      : unit_(unit), free_{{start, bytes}} {}

  /// @return 0  There is no room.
  [[nodiscard]] std::uintptr_t take(std::size_t bytes);
  /// Takes back a part that `take` has returned. Needs no memory.
  void give_back(std::uintptr_t address, std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t rounded(std::size_t bytes) const noexcept {
    return (bytes + unit_ - 1) / unit_ * unit_;
  }

 private:
  std::size_t unit_;
  using parts = std::map<std::uintptr_t, std::size_t>;  // start and bytes
  parts free_;                                          // neighbours are joined
  // Nodes for `give_back`: one for each part that is taken.
  std::vector<parts::node_type> spare_nodes_;
};

}  // namespace flotilla::isolated
