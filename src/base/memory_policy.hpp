// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The NUMA node on which this thread's new pages of memory are placed.

namespace flotilla::base {

/// While the object exists, pages that this thread touches first, or that the driver allocates on
/// this thread, are placed on `node` if it has free memory, or else elsewhere. Pages that exist
/// already stay where they are.
///
/// Changes only the default policy of Linux. If the thread already has a policy, the application or
/// its launcher chose it (numactl), and the policy stays. If the system refuses a call, as in a
/// container, the object has no effect.
///
/// Threads: create and destroy the object on the same thread. Cost: three system calls, or none.
class preferred_memory {
 public:
  /// @param node  A NUMA node of the operating system. If negative, the object has no effect.
  explicit preferred_memory(int node) noexcept;
  ~preferred_memory();
  preferred_memory(preferred_memory const&) = delete;
  preferred_memory& operator=(preferred_memory const&) = delete;

 private:
  bool is_set_ = false;
};

}  // namespace flotilla::base
