// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counters with one writer at a time and any number of readers.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

/// Adds `by` to `counter`. A load and a store are enough, because only one thread at a time writes
/// the counter. They are cheaper than an atomic read-modify-write instruction.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace flotilla::base
