// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers the last buffers that the program has destroyed.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace flotilla::dispatch {

/// The runtime frees the memory of a destroyed buffer only after the tasks that were open at that
/// time have ended. Until then the driver still knows the address, so the argument check needs this
/// list to find launches that use the buffer too late. Threads: any.
class destroyed_buffers {
 public:
  static constexpr std::size_t max_buffers = 1024;

  /// @param id  The number of the allocation (memory_facts::id).
  void add(std::uint64_t id);
  [[nodiscard]] bool holds(std::uint64_t id) const;

 private:
  std::mutex mutable mutex_;
  std::deque<std::uint64_t> ids_;  // guarded by mutex_; the oldest first
};

}  // namespace flotilla::dispatch
