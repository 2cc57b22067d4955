#pragma once
// Tells whether this process is a child of fork() that inherited what an object holds. CUDA cannot be
// used there, and our threads are not there either.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

namespace detail {
extern std::atomic<std::uint32_t> forks;
}

/// How many fork()s lie between this process and the first that used flotilla. An object that remembers
/// it from its making, and later sees another, is used in a child. Cost: one load. Threads: any.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  // relaxed: only a fork changes it, in a child that has one thread
  return detail::forks.load(std::memory_order_relaxed);
}

}  // namespace flotilla::base
