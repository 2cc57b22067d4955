// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The predecessors of the open host tasks.

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/task/slot.hpp"
#include "dispatch/task/task_state.hpp"

namespace flotilla::dispatch {

/// A host task is never parked on a predecessor: continuations watch all of its predecessors. This
/// table tells waiting threads for which predecessor a host task still waits, so that they can help
/// with it, and so that the deadlock detector can follow the chain. `slot::parked_on` of an open
/// host task is slot::parked_as_host. Threads: any.
class host_tasks {
 public:
  void add(slot_address task, std::vector<task_key> predecessors) {
    std::lock_guard const lock{mutex_};
    open_.insert_or_assign(task, std::move(predecessors));
  }
  void remove(slot_address task) noexcept {
    std::lock_guard const lock{mutex_};
    open_.erase(task);
  }
  /// Returns a predecessor of the host task for which `is_open(key)` is true, or empty if there is
  /// none.
  template <class IsOpen>
  [[nodiscard]] std::optional<slot_address> open_predecessor(slot_address task,
                                                             IsOpen const& is_open) const {
    std::lock_guard const lock{mutex_};
    auto const found = open_.find(task);
    if (found == open_.end()) { return std::nullopt; }
    for (task_key const& each : found->second) {
      if (is_open(each)) { return each.slot; }
    }
    return std::nullopt;
  }

 private:
  std::mutex mutable mutex_;
  std::unordered_map<slot_address, std::vector<task_key>> open_;  // guarded by mutex_
};

}  // namespace flotilla::dispatch
