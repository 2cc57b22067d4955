#pragma once
// Detects that an object was inherited by a child of fork(), where CUDA does not work and our
// threads do not exist.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

namespace detail {
extern std::atomic<std::uint32_t> forks;
}

/// The number of fork()s between the first process that used flotilla and this one. An object that
/// stored another value when it was made is used in a child. Cost: one load. Threads: any.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  // relaxed: only a fork changes it, in a child that has one thread
  return detail::forks.load(std::memory_order_relaxed);
}

}  // namespace flotilla::base
