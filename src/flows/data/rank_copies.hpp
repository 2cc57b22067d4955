// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which ranks have the contents of data.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace flotilla::flows {

/// The ranks that have the newest contents of data, or will have them after the tasks that were
/// submitted. All ranks that use the data agree on this, because they submit the same tasks.
///
/// The owner always has the contents. Each further rank gets a copy when a task on it first reads
/// them, and gets it from the rank that `source_for_next` names, so that a copy to many ranks is a
/// tree.
class rank_copies {
 public:
  /// @param datum  The number of the data in their flow, in the order of their creation.
  rank_copies(int owner, std::uint32_t datum) : datum_(datum), holders_{owner} {}

  [[nodiscard]] int owner() const noexcept { return holders_.front(); }
  [[nodiscard]] std::uint32_t datum() const noexcept { return datum_; }
  /// Returns how often the data were changed.
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  [[nodiscard]] bool has(int rank) const noexcept {
    if (is_marked_.empty()) {
      return std::find(holders_.begin(), holders_.end(), rank) != holders_.end();
    }
    auto const index = static_cast<std::size_t>(rank);
    return index < is_marked_.size() && is_marked_[index];
  }
  /// Returns the rank that sends the contents to the next rank that needs them.
  [[nodiscard]] int source_for_next() const noexcept {
    return holders_[(holders_.size() - 1) / receivers_of_each];
  }
  void add(int rank) {
    holders_.push_back(rank);
    if (!is_marked_.empty()) {
      mark(rank);
    } else if (holders_.size() > max_unmarked) {
      for (int const each : holders_) { mark(each); }
    }
  }
  /// A task on `rank` has changed the data. The owner gets them, too.
  void change(int rank) {
    ++version_;
    drop();
    if (rank != owner()) { holders_.push_back(rank); }
  }
  /// Only the owner keeps the contents.
  void drop() noexcept {
    is_marked_.clear();
    holders_.resize(1);
  }
  /// Makes another rank, which has the contents, the owner.
  void set_owner(int rank) noexcept {
    auto const found = std::find(holders_.begin(), holders_.end(), rank);
    if (found == holders_.end()) {
      holders_.front() = rank;
    } else {
      std::iter_swap(holders_.begin(), found);
    }
  }

 private:
  static constexpr std::size_t receivers_of_each = 4;
  static constexpr std::size_t max_unmarked = 16;

  void mark(int rank) {
    auto const index = static_cast<std::size_t>(rank);
    if (index >= is_marked_.size()) { is_marked_.resize(index + 1); }
    is_marked_[index] = true;
  }

  std::uint32_t const datum_;
  std::uint32_t version_ = 0;
  std::vector<int> holders_;     // the owner first, then in the order in which they got a copy
  std::vector<bool> is_marked_;  // by rank; empty while there are few
};

}  // namespace flotilla::flows
