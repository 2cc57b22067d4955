// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A double-ended queue that reuses its memory. In contrast, std::deque allocates and frees blocks
// while it is in use.

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cstddef>

namespace flotilla::base {

/// Threads: one at a time. The queue allocates memory only when its size exceeds its capacity,
/// which never shrinks.
template <class T>
class ring_deque {
 public:
  [[nodiscard]] bool empty() const noexcept { return ring_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return ring_.size(); }
  [[nodiscard]] auto begin() const noexcept { return ring_.begin(); }
  [[nodiscard]] auto end() const noexcept { return ring_.end(); }
  void push_back(T value) {
    make_room();
    ring_.push_back(value);
  }
  void push_front(T value) {
    make_room();
    ring_.push_front(value);
  }
  /// The queue must not be empty.
  [[nodiscard]] T take_front() {
    T const first = ring_.front();
    ring_.pop_front();
    return first;
  }
  void clear() noexcept { ring_.clear(); }

 private:
  void make_room() {
    if (ring_.full()) { ring_.set_capacity(std::max<std::size_t>(64, 2 * ring_.capacity())); }
  }

  boost::circular_buffer<T> ring_;
};

}  // namespace flotilla::base
