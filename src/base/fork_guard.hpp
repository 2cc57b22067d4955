#pragma once
// Tells whether this process is a child of fork() that inherited what an object holds. CUDA cannot be
// used there, and our threads are not there either.

#include <cstdint>

namespace flotilla::base {

/// How many fork()s lie between this process and the first that used flotilla. An object that remembers
/// it from its making, and later sees another, is used in a child. Cost: one load. Threads: any.
[[nodiscard]] std::uint32_t fork_generation() noexcept;

}  // namespace flotilla::base
