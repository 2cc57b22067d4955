// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
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

/// Returns the number of generations between the process that loaded flotilla and this process: 0
/// in the former, 1 in its children made by fork(), and so on. An object stores this number when it
/// is made. If the number is different later, this process is a child of the process that made the
/// object. Cost: one load. Threads: any.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  // Relaxed, because only fork() changes the number, and the new child has only one thread.
  return detail::forks.load(std::memory_order_relaxed);
}

/// Call this function after user code has returned to flotilla. If the user code has forked and
/// this process is the child, ends the process with a message. The child cannot go on, because it
/// has none of the runtime's threads. The function does not throw: on a worker, the exception would
/// leave the oneTBB job, and that aborts the process without a message.
/// @param generation  The result of `fork_generation` before the user code was called.
/// @param what        The user code in words, for the message: "a callable", for example.
inline void end_returning_child(std::uint32_t generation, char const* what) noexcept {
  if (fork_generation() != generation) [[unlikely]] { detail::end_child(what); }
}

}  // namespace flotilla::base
