// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The real handles of this worker, by the index that the owner has chosen.

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

/// Threads: any. The owner orders the uses of an index.
class real_handles {
 public:
  real_handles()
      : slots_(
            static_cast<slot*>(::mmap(nullptr, max_objects * sizeof(slot), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (slots_ == MAP_FAILED) { throw std::bad_alloc{}; }
  }
  real_handles(real_handles const&) = delete;
  real_handles& operator=(real_handles const&) = delete;

  template <class Handle>
  [[nodiscard]] Handle get(std::uint32_t index) const noexcept {
    if (index == legacy_stream) { return reinterpret_cast<Handle>(std::uintptr_t{1}); }
    if (index == per_thread_stream) { return reinterpret_cast<Handle>(std::uintptr_t{2}); }
    // relaxed: the channel orders the calls of one thread, and the owner's threads order theirs.
    std::uintptr_t const found =
        index < max_objects ? slots_[index].load(std::memory_order_relaxed) : 0;
    return reinterpret_cast<Handle>(found);
  }
  template <class Handle>
  void set(std::uint32_t index, Handle handle) noexcept {
    if (index == 0 || index >= max_objects) { return; }
    slots_[index].store(reinterpret_cast<std::uintptr_t>(handle), std::memory_order_relaxed);
  }
  /// The index of a handle among the indices of this device, or 0. Cost: a search.
  template <class Handle>
  [[nodiscard]] std::uint32_t find(Handle handle, std::uint32_t limit) const noexcept {
    for (std::uint32_t i = 1; i < limit; ++i) {
      if (get<Handle>(i) == handle) { return i; }
    }
    return 0;
  }

 private:
  using slot = std::atomic<std::uintptr_t>;
  slot* slots_;
};

}  // namespace flotilla::isolated
