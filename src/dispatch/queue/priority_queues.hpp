#pragma once
// Tasks that wait at a device, the most urgent first.

#include <array>
#include <vector>

#include "base/ring_deque.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// A queue for each level. One thread at a time.
class leveled_tasks {
 public:
  [[nodiscard]] base::ring_deque<slot_address>& of(urgency level) noexcept { return by_level_[level]; }
  [[nodiscard]] base::ring_deque<slot_address> const& of(urgency level) const noexcept { return by_level_[level]; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t all = 0;
    for (auto const& each : by_level_) { all += each.size(); }
    return all;
  }
  /// Empties it into `into`.
  void move_to(std::vector<slot_address>& into) {
    for (auto& each : by_level_) {
      into.insert(into.end(), each.begin(), each.end());
      each.clear();
    }
  }

 private:
  std::array<base::ring_deque<slot_address>, urgencies> by_level_;
};

}  // namespace flotilla::dispatch
