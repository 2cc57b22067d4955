#pragma once
// Counters that one thread at a time writes and any thread reads.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

/// Adds without an atomic read-modify-write instruction, because there is only one writer at a
/// time.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace flotilla::base
