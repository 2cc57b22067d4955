// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/memory/address_space.hpp"

#include <iterator>
#include <utility>

namespace flotilla::isolated {

std::uintptr_t address_space::take(std::size_t bytes) {
  std::size_t const needed = rounded(bytes);
  if (needed < bytes || needed == 0) { return 0; }
  for (auto each = free_.begin(); each != free_.end(); ++each) {
    auto const [start, room] = *each;
    if (room < needed) { continue; }
    parts added{{0, 0}};
    // Two more: this one, and the node of a part that is taken as a whole.
    std::size_t const nodes = spare_nodes_.size() + 2;
    if (spare_nodes_.capacity() < nodes) { spare_nodes_.reserve(2 * nodes); }
    spare_nodes_.push_back(added.extract(added.begin()));
    auto rest = free_.extract(each);
    if (room > needed) {
      rest.key() = start + needed;
      rest.mapped() = room - needed;
      free_.insert(std::move(rest));
    } else {
      spare_nodes_.push_back(std::move(rest));
    }
    return start;
  }
  return 0;
}

void address_space::give_back(std::uintptr_t address, std::size_t bytes) noexcept {
  std::size_t size = rounded(bytes);
  auto node = std::move(spare_nodes_.back());
  spare_nodes_.pop_back();
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
  node.key() = address;
  node.mapped() = size;
  free_.insert(std::move(node));
}

}  // namespace flotilla::isolated
