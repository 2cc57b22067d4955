#pragma once
// Detects that a child of fork() uses an object of its parent. In the child CUDA does not work, and
// the threads of the parent do not exist.

#include <atomic>
#include <cstdint>

namespace flotilla::base {

namespace detail {
extern std::atomic<std::uint32_t> forks;
[[noreturn]] void end_child(char const* what) noexcept;
}  // namespace detail

/// Returns how often fork() was called between the process that loaded flotilla and this process.
/// An object stores this number when it is made. If the number is different later, this process is
/// a child of the process that made the object. Cost: one load. Threads: any.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  // Relaxed, because only fork() changes the number, and the new child has only one thread.
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
