// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file descriptor that is readable while a flag is raised.

#include <atomic>

namespace flotilla::dispatch {

/// The signal from many threads to one event loop. Threads that have published an event `raise` the
/// signal; only the first of them writes to the descriptor. The loop calls `clear`, and then looks
/// for events.
///
/// `clear` first empties the descriptor and then lowers the flag. In the other order, a thread
/// could raise the flag and write between the two steps: then the descriptor would be empty while
/// the flag is raised, and no thread would write again
/// (tests/unit/dispatch/runtime/event_model_test.cpp). Threads: any.
class event_signal {
 public:
  /// @throws std::system_error  The process has too many descriptors.
  event_signal();
  ~event_signal();
  event_signal(event_signal const&) = delete;
  event_signal& operator=(event_signal const&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_raised() const noexcept { return raised_.load(std::memory_order_seq_cst); }
  /// Makes the descriptor readable. Call this after the event was published. Cost: one exchange if
  /// the signal is already raised.
  void raise() noexcept {
    // An exchange even if the flag is raised: either this thread sees the flag that `clear` has
    // lowered, or the thread in `clear` sees the event.
    if (!raised_.exchange(true, std::memory_order_seq_cst)) { write(); }
  }
  /// Makes the descriptor unreadable. Call this before looking for events. Cost: one system call.
  void clear() noexcept;

 private:
  void write() const noexcept;

  int const descriptor_;
  std::atomic<bool> raised_{false};
};

}  // namespace flotilla::dispatch
