// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/change_list.hpp"

#include <algorithm>

namespace flotilla::dispatch {

void change_list::put(node_update update, std::byte const* arguments) {
  std::uint32_t& place = place_[update.node];
  // If the list already has a change of this node, replace that change, and reuse its bytes if they
  // suffice.
  bool const fits = place != 0 && changes_[place - 1].capacity >= update.bytes;
  if (fits) {
    update.offset = changes_[place - 1].offset;
    update.capacity = changes_[place - 1].capacity;
  } else {
    constexpr std::size_t alignment = 16;
    update.offset =
        static_cast<std::uint32_t>((bytes_.size() + alignment - 1) / alignment * alignment);
    update.capacity = update.bytes;
    bytes_.resize(update.offset + update.bytes);
  }
  std::copy_n(arguments, update.bytes, bytes_.begin() + update.offset);
  if (place != 0) {
    changes_[place - 1] = update;
  } else {
    changes_.push_back(update);
    place = static_cast<std::uint32_t>(changes_.size());
  }
}

std::uint32_t change_lists::take() {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    all_.push_back(std::make_unique<change_list>(nodes_));
    free_.reserve(all_.size());  // so give_back never allocates
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  std::uint32_t const got = free_.back();
  free_.pop_back();
  return got;
}

change_list& change_lists::at(std::uint32_t index) const {
  std::lock_guard const lock{mutex_};
  return *all_[index];
}

void change_lists::give_back(std::uint32_t index) noexcept {
  std::lock_guard const lock{mutex_};
  all_[index]->clear();
  free_.push_back(index);
}

}  // namespace flotilla::dispatch
