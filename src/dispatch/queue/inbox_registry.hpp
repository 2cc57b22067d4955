// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// All inboxes of one device, or all inboxes for tasks that any device may take.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dispatch/queue/inbox.hpp"

namespace flotilla::dispatch {

/// All inboxes of one device, or all inboxes for tasks that any device may take. The submitting
/// thread and the registry share the ownership of an inbox, because either may be destroyed first.
class inbox_registry {
 public:
  std::shared_ptr<inbox> open(std::size_t capacity, priority_level level = 0);

  /// A consumer's copy of the list of inboxes. Each consumer has its own copy.
  struct view {
    std::uint64_t version = 0;
    std::vector<std::shared_ptr<inbox>> boxes;         // the most urgent level first
    std::array<std::size_t, priority_levels> first{};  // index in `boxes` where each level begins
    std::size_t next = 0;                              // selects the inbox that is read first

    [[nodiscard]] std::span<std::shared_ptr<inbox> const> at(priority_level level) const noexcept {
      std::size_t const end = level == 0 ? boxes.size() : first[level - 1];
      return {boxes.data() + first[level], end - first[level]};
    }
    /// Returns the inboxes of all levels above `level`.
    [[nodiscard]] std::span<std::shared_ptr<inbox> const> above(
        priority_level level) const noexcept {
      return {boxes.data(), first[level]};
    }
    [[nodiscard]] priority_level highest() const noexcept {
      return boxes.empty() ? priority_level{0} : boxes.front()->level();
    }
  };
  /// Updates the copy. Cost: one load if the list has not changed.
  void refresh(view& copy);

  /// Removes the empty inboxes of ended threads, and releases the blocks from which these threads
  /// took slots. Consumers see the removal after their next `refresh`.
  /// @param pool  The pool of these blocks.
  void sweep(slot_pool& pool);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<inbox>> boxes_;
  std::atomic<std::uint64_t> version_{0};  // counts changes of boxes_, written under the mutex
};

}  // namespace flotilla::dispatch
