#pragma once
// Counting calls of operator new.

#include <cstdint>

namespace flotilla::bench {

/// Begins to count those of the whole process, from 0.
void count_allocations() noexcept;
/// Ends it. @return how many there were.
[[nodiscard]] std::int64_t counted_allocations() noexcept;

}  // namespace flotilla::bench
