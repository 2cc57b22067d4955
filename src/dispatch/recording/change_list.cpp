// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/change_list.hpp"

#include <algorithm>
#include <cstring>

namespace flotilla::dispatch {

void change_list::put(change made, std::byte const* arguments) {
  if (made.task >= place_.size()) { place_.resize(made.task + 1, 0); }
  std::uint32_t& place = place_[made.task];
  // If the list already has a change of this task, replace that change, and reuse its bytes if they
  // suffice.
  bool const fits = place != 0 && changes_[place - 1].capacity >= made.bytes;
  if (fits) {
    made.offset = changes_[place - 1].offset;
    made.capacity = changes_[place - 1].capacity;
  } else {
    constexpr std::size_t alignment = 16;
    made.offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    made.capacity = made.bytes;
    bytes_.resize(made.offset + made.bytes);
  }
  if (place == 0) {
    changes_.push_back(made);
    place = static_cast<std::uint32_t>(changes_.size());
  } else {
    changes_[place - 1] = made;
  }
  std::copy_n(arguments, made.bytes, bytes_.data() + made.offset);
}

std::optional<detail::memory_command> change_list::command(change const& of,
                                                           std::byte const* arguments) noexcept {
  if (of.kernel != no_kernel) { return std::nullopt; }
  detail::memory_command held;
  std::memcpy(&held, arguments, sizeof held);
  return held;
}

std::uint32_t change_lists::take() {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    all_.push_back(std::make_unique<change_list>(tasks_));
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
