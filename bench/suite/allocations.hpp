#pragma once
// Counts calls of operator new.

#include <cstdint>

namespace flotilla::bench {

/// Starts counting from 0, for the whole process.
void count_allocations() noexcept;
/// Stops counting. @return the number of calls.
[[nodiscard]] std::int64_t counted_allocations() noexcept;

}  // namespace flotilla::bench
