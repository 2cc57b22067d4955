// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many lists of indices in one array.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::dispatch {

/// Lists of indices, one after another in memory, so that a list costs no allocation of its own.
/// Lists are only added: `push` adds an index to the open list, and `close` ends this list.
///
/// Threads: same rules as for a std::vector.
class index_lists {
 public:
  void reserve(std::size_t lists, std::size_t indices) {
    ends_.reserve(lists);
    indices_.reserve(indices);
  }
  void push(std::uint32_t index) { indices_.push_back(index); }
  void close() { ends_.push_back(static_cast<std::uint32_t>(indices_.size())); }
  /// Empties the open list.
  void drop() { indices_.resize(begin_of(ends_.size())); }

  /// The number of closed lists.
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  /// The number of indices in all lists.
  [[nodiscard]] std::size_t indices() const noexcept { return indices_.size(); }
  /// Returns a closed list. The span is valid until the next `push`.
  [[nodiscard]] std::span<std::uint32_t const> operator[](std::size_t list) const noexcept {
    std::size_t const begin = begin_of(list);
    return {indices_.data() + begin, ends_[list] - begin};
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t list) const noexcept {
    return list == 0 ? 0 : ends_[list - 1];
  }

  std::vector<std::uint32_t> indices_;
  std::vector<std::uint32_t> ends_;  // by list: the position behind its last index
};

}  // namespace flotilla::dispatch
