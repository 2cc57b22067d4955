#pragma once
// All inboxes that lead to one place.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dispatch/queue/inbox.hpp"

namespace flotilla::dispatch {

/// The inboxes to one device, or to any device. The submitting thread and the registry share each
/// inbox, because threads come and go and either side may end first.
class inbox_registry {
 public:
  std::shared_ptr<inbox> open(std::size_t capacity, priority_level level = 0);

  /// A consumer's copy of the list. Each consumer has its own.
  struct view {
    std::uint64_t version = 0;
    std::vector<std::shared_ptr<inbox>> boxes;         // the most urgent level first
    std::array<std::size_t, priority_levels> first{};  // index in `boxes` where each level begins
    std::size_t next = 0;  // whose turn it is among the inboxes of a level

    [[nodiscard]] std::span<std::shared_ptr<inbox> const> at(priority_level level) const noexcept {
      std::size_t const end = level == 0 ? boxes.size() : first[level - 1];
      return {boxes.data() + first[level], end - first[level]};
    }
    /// The inboxes of more urgent levels.
    [[nodiscard]] std::span<std::shared_ptr<inbox> const> above(
        priority_level level) const noexcept {
      return {boxes.data(), first[level]};
    }
    [[nodiscard]] priority_level highest() const noexcept {
      return boxes.empty() ? priority_level{0} : boxes.front()->level();
    }
  };
  /// Brings the copy up to date. Cost: a load if nothing has changed.
  void refresh(view& copy);

  /// Removes inboxes that are empty and whose thread has ended. Consumers notice at their next
  /// `refresh`.
  /// @param pool  Where the inboxes' slots came from.
  void sweep(slot_pool& pool);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<inbox>> boxes_;
  std::atomic<std::uint64_t> version_{0};  // counts changes of boxes_, written under the mutex
};

}  // namespace flotilla::dispatch
