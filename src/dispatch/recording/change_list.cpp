#include "dispatch/change_list.hpp"

#include <algorithm>

namespace flotilla::dispatch {

void change_list::put(change what, std::byte const* arguments) {
  std::uint32_t& place = place_[what.node];
  // An earlier change of the node goes; its bytes too, where these find room there.
  bool const fits = place != 0 && changes_[place - 1].room >= what.bytes;
  if (fits) {
    what.at = changes_[place - 1].at;
    what.room = changes_[place - 1].room;
  } else {
    constexpr std::size_t alignment = 16;
    what.at = static_cast<std::uint32_t>((bytes_.size() + alignment - 1) / alignment * alignment);
    what.room = what.bytes;
    bytes_.resize(what.at + what.bytes);
  }
  std::copy_n(arguments, what.bytes, bytes_.begin() + what.at);
  if (place != 0) {
    changes_[place - 1] = what;
  } else {
    changes_.push_back(what);
    place = static_cast<std::uint32_t>(changes_.size());
  }
}

std::uint32_t change_lists::take() {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    all_.push_back(std::make_unique<change_list>(nodes_));
    free_.reserve(all_.size());  // so that give_back never allocates
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
