#pragma once
// Detects that an object was inherited by a child of fork(), where CUDA does not work and our
// threads do not exist.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

namespace detail {
extern std::atomic<std::uint32_t> forks;
[[noreturn]] void end_child(char const* what) noexcept;
}  // namespace detail

/// The number of fork()s between the first process that used flotilla and this one. An object that
/// stored another value when it was made is used in a child. Cost: one load. Threads: any.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  // relaxed: only a fork changes it, in a child that has one thread
  return detail::forks.load(std::memory_order_relaxed);
}

/// Ends the process with a message if a fork() has happened since `generation` was read: user code
/// that flotilla called has returned in a child. The child has none of our threads, so it cannot go
/// on, and there is no caller that an exception could reach.
/// @param what  "a callable", for the message.
inline void end_returning_child(std::uint32_t generation, char const* what) noexcept {
  if (fork_generation() != generation) [[unlikely]] { detail::end_child(what); }
}

}  // namespace flotilla::base
