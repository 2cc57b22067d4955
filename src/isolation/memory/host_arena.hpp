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
    std::uint64_t id = 0;  // of no other block, before or after this one
    std::size_t bytes = 0;
    std::size_t capacity = 0;  // bytes, whole pages; workers register all of it
    unsigned flags = 0;        // of cuMemHostAlloc
    bool is_registered = false;
    bool is_here = false;  // whether the base driver of this process has registered it too
    bool is_kept = false;  // the block is free, but still registered
  };
  // Of kept blocks. To unregister memory, a driver waits for running kernels, and these may wait
  // for the thread that frees the memory. So freed blocks stay registered, until there are too
  // many.
  static constexpr std::size_t max_kept_bytes = std::size_t{256} << 20;

  /// @throws driver_error  The system does not provide the memory or the addresses.
  host_arena();

  /// Returns memory that is all zeros, or null. Whole pages.
  [[nodiscard]] void* allocate(std::size_t bytes, unsigned flags = 0);
  /// Returns a kept block that has at least `bytes` and these flags, but not much more, or null.
  /// Its contents are arbitrary.
  [[nodiscard]] void* reuse(std::size_t bytes, unsigned flags);
  /// Keeps the block, which must be registered, for `reuse`. Returns false if too much is kept.
  [[nodiscard]] bool keep(void* address);
  /// Frees the block, and gives its pages back to the system. Returns false if there is none. Needs
  /// no memory.
  bool free(void* address) noexcept;
  /// Finds the block that contains the address. Finds no kept blocks.
  [[nodiscard]] std::optional<block> find(void const* address) const;
  /// Returns registered memory that nobody uses and that is never freed, for workers that register
  /// it later. Null: there is none.
  [[nodiscard]] void* placeholder();
  void set_registered(void const* address, bool is_registered);
  void set_here(void const* address, bool is_here);
  /// Calls visit(block) for each registered block, also kept ones, with the lock held.
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
  std::once_flag placeholder_made_;
  void* placeholder_ = nullptr;  // written once
  std::mutex mutable mutex_;
  address_space addresses_;                   // guarded by mutex_
  std::map<std::byte const*, block> blocks_;  // by address; guarded by mutex_
  std::size_t kept_bytes_ = 0;                // guarded by mutex_
  std::uint64_t last_id_ = 0;                 // guarded by mutex_
};

}  // namespace flotilla::isolated
