// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The peers of a context: other contexts whose memory its kernels may access.

#include <mutex>
#include <unordered_set>

namespace flotilla::cpu_driver {

/// The peers are stored by id instead of by handle, because handles of primary contexts are reused.
/// Threads: any.
class peer_set {
 public:
  using context_id = unsigned long long;

  /// These two functions return false if nothing changed.
  [[nodiscard]] bool enable(context_id peer) {
    std::lock_guard const lock(mutex_);
    return ids_.insert(peer).second;
  }
  [[nodiscard]] bool disable(context_id peer) {
    std::lock_guard const lock(mutex_);
    return ids_.erase(peer) != 0;
  }
  [[nodiscard]] bool holds(context_id peer) const {
    std::lock_guard const lock(mutex_);
    return ids_.contains(peer);
  }

 private:
  std::mutex mutable mutex_;
  std::unordered_set<context_id> ids_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
