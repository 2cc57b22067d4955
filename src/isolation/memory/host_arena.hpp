// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host memory that this process shares with its workers: pinned memory, images of programs, and
// the pieces through which pageable memory is copied. It is one sparse memfd, mapped at the same
// address everywhere.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "isolation/channel/sealed_memory.hpp"
#include "isolation/memory/address_space.hpp"

namespace flotilla::isolated {

/// Threads: any.
class host_arena {
 public:
  struct block {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    unsigned flags = 0;  // of cuMemHostAlloc
    bool is_registered = false;
  };

  /// @throws std::bad_alloc  The system does not provide the memory or the addresses.
  host_arena();

  /// Returns memory that is all zeros, or null. Whole pages.
  [[nodiscard]] void* allocate(std::size_t bytes, unsigned flags = 0);
  /// Frees the block, and gives its pages back to the system. Returns false if there is none.
  bool free(void* address);
  /// Finds the block that contains the address.
  [[nodiscard]] std::optional<block> find(void const* address) const;
  void set_registered(void const* address, bool is_registered);
  /// Calls visit(block) for each registered block, with the lock held.
  template <class Visit>
  void for_each_registered(Visit const& visit) const {
    std::lock_guard const lock{mutex_};
    for (auto const& [start, one] : blocks_) {
      if (one.is_registered) { visit(one); }
    }
  }
  [[nodiscard]] int memory() const noexcept { return memory_.get(); }
  /// Changes with each change of what is registered.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(); }

 private:
  descriptor memory_;
  mapping mapped_;
  std::atomic<std::uint64_t> version_{0};
  std::mutex mutable mutex_;
  address_space addresses_;                   // guarded by mutex_
  std::map<std::byte const*, block> blocks_;  // by address; guarded by mutex_
};

}  // namespace flotilla::isolated
