// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restricts a thread to some processors for a time.

#include <functional>
#include <optional>
#include <thread>

#include "base/processor_mask.hpp"

namespace flotilla::base {

/// Restricts the calling thread to a set of processors, and restores the thread's affinity mask in
/// the destructor. If the system refuses, the thread stays as it is. A thread has at most one
/// object at a time. Threads: only the thread that made the object.
class thread_pin {
 public:
  thread_pin() = default;
  ~thread_pin();
  thread_pin(thread_pin const&) = delete;
  thread_pin& operator=(thread_pin const&) = delete;

  /// Restricts the thread to those of `processors` that its own mask has. Does nothing if there are
  /// none. Cost: a system call, and another one at the first time.
  void move_to(processor_mask const& processors) noexcept;

 private:
  std::optional<processor_mask> own_;  // the mask before the first `move_to`
};

/// Starts a thread of the library (library_thread). A thread inherits the affinity mask of its
/// creator. If a thread_pin restricts the calling thread, the new thread gets the mask that the
/// calling thread had before.
/// @throws std::bad_alloc
/// @throws std::system_error  The system refused the thread. The text names the limits.
[[nodiscard]] std::thread start_thread(std::function<void()> body);

}  // namespace flotilla::base
