// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts calls of operator new.

#include <cstdint>

namespace flotilla::bench {

/// Starts to count the calls of all threads, from 0.
void count_allocations() noexcept;
/// Stops counting. @return the number of calls.
[[nodiscard]] std::int64_t counted_allocations() noexcept;

}  // namespace flotilla::bench
