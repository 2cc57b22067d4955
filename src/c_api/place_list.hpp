// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The free places of a handle table.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace flotilla::c_api {

/// The places that hold no object and that no thread has taken. Threads: any.
class place_list {
 public:
  /// Takes free places, as many as `to` has room for.
  /// @param make_room  Called under a lock with each place that is taken for the first time.
  /// @throws std::bad_alloc  `make_room` has thrown, or all places are in use.
  template <class MakeRoom>
  void take(std::span<std::uint32_t> to, MakeRoom const& make_room) {
    std::lock_guard const lock(mutex_);
    while (free_.size() < to.size()) { add_place(make_room); }
    for (std::uint32_t& each : to) {
      each = free_.back();
      free_.pop_back();
    }
  }
  void give_back(std::span<std::uint32_t const> places) noexcept {
    std::lock_guard const lock(mutex_);
    // There is room for all places, so this does not allocate.
    free_.insert(free_.end(), places.begin(), places.end());
  }

 private:
  template <class MakeRoom>
  void add_place(MakeRoom const& make_room) {
    grow();
    make_room(made_);
    free_.push_back(made_++);
  }
  /// Makes room in the list for one more place.
  void grow();

  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t made_ = 0;  // how many places were made
};

class kept_places;

/// Where a thread finds its kept_places. It has no destructor, so functions that run at the end of
/// a thread can use it, and a thread reaches it with one look-up.
struct kept_state {
  kept_places* places = nullptr;  // null: not made yet, or gone
  bool is_over = false;  // the thread ends: functions that run later in it must use the list
};

/// The free places that one thread keeps, so that most calls need no lock.
class kept_places {
 public:
  kept_places(place_list& all, kept_state& state) noexcept : all_{all}, state_{state} {
    state_.places = this;
  }
  kept_places(kept_places const&) = delete;
  kept_places& operator=(kept_places const&) = delete;
  ~kept_places() {
    all_.give_back(std::span{places_, count_});
    state_ = {nullptr, true};
  }
  template <class MakeRoom>
  [[nodiscard]] std::uint32_t take(MakeRoom const& make_room) {
    if (count_ == 0) {
      all_.take(std::span{places_, capacity / 2}, make_room);
      count_ = capacity / 2;
    }
    return places_[--count_];
  }
  void give_back(std::uint32_t place) noexcept {
    if (count_ == capacity) {
      count_ = capacity / 2;
      all_.give_back(std::span{places_ + count_, capacity / 2});
    }
    places_[count_++] = place;
  }

 private:
  static constexpr std::size_t capacity = 64;
  place_list& all_;
  kept_state& state_;
  std::size_t count_ = 0;
  std::uint32_t places_[capacity];
};

}  // namespace flotilla::c_api
