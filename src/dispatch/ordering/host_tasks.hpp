// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The predecessors of the open host tasks.

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  /// @param runs_always  Whether its function runs even on a poisoned runtime.
  /// @return the number of the entry.
  std::uint64_t add(slot_address task, std::vector<task_key> predecessors, bool runs_always) {
    std::lock_guard const lock{mutex_};
    open_.insert_or_assign(task, entry{++last_number_, std::move(predecessors), runs_always});
    return last_number_;
  }
  void remove(slot_address task) noexcept {
    std::lock_guard const lock{mutex_};
    open_.erase(task);
  }
  /// The same after the task has ended, when another host task may have its slot.
  void remove(slot_address task, std::uint64_t number) noexcept {
    std::lock_guard const lock{mutex_};
    auto const found = open_.find(task);
    if (found != open_.end() && found->second.number == number) { open_.erase(found); }
  }
  /// The function of the open task in this slot begins unless the runtime is poisoned. Look at the
  /// poison after this call.
  void begin(slot_address task) noexcept {
    std::lock_guard const lock{mutex_};
    auto const found = open_.find(task);
    if (found != open_.end()) { found->second.runs_always = true; }
  }
  /// Returns whether the function of the open task in this slot must still run, or runs, although
  /// the runtime may be poisoned.
  [[nodiscard]] bool must_run(slot_address task) const {
    std::lock_guard const lock{mutex_};
    auto const found = open_.find(task);
    return found != open_.end() && found->second.runs_always;
  }
  /// Returns a predecessor of the host task for which `is_open(key)` is true, or empty if there is
  /// none.
  template <class IsOpen>
  [[nodiscard]] std::optional<slot_address> open_predecessor(slot_address task,
                                                             IsOpen const& is_open) const {
    std::lock_guard const lock{mutex_};
    auto const found = open_.find(task);
    if (found == open_.end()) { return std::nullopt; }
    for (task_key const& each : found->second.predecessors) {
      if (is_open(each)) { return each.slot; }
    }
    return std::nullopt;
  }

 private:
  struct entry {
    std::uint64_t number;
    std::vector<task_key> predecessors;
    bool runs_always;
  };

  std::mutex mutable mutex_;
  // The mutex guards these members:
  std::unordered_map<slot_address, entry> open_;
  std::uint64_t last_number_ = 0;
};

}  // namespace flotilla::dispatch
