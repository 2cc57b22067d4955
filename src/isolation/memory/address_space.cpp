// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/memory/address_space.hpp"

#include <iterator>

namespace flotilla::isolated {

std::uintptr_t address_space::take(std::size_t bytes) {
  std::size_t const needed = rounded(bytes);
  if (needed < bytes || needed == 0) { return 0; }
  for (auto each = free_.begin(); each != free_.end(); ++each) {
    auto const [start, room] = *each;
    if (room < needed) { continue; }
    free_.erase(each);
    if (room > needed) { free_.emplace(start + needed, room - needed); }
    return start;
  }
  return 0;
}

void address_space::give_back(std::uintptr_t address, std::size_t bytes) {
  std::size_t size = rounded(bytes);
  auto next = free_.lower_bound(address);
  if (next != free_.end() && next->first == address + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto const before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += size;
      return;
    }
  }
  free_.emplace(address, size);
}

}  // namespace flotilla::isolated
