// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses calls on a runtime that is closed, poisoned, or used in a child of fork().

#include <atomic>
#include <cstdint>

#include "base/fork_guard.hpp"
#include "dispatch/fault/fault_monitor.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class usage_guard {
 public:
  explicit usage_guard(fault_monitor const& faults) noexcept : faults_(faults) {}

  /// Closes the runtime, which refuses new tasks from now on.
  void close() noexcept {
    state_.store(states::closed, std::memory_order_release);  // pairs with the acquire in
                                                              // check_usable
  }

  /// Returns whether this process was forked after the runtime was created. Such a process must not
  /// use the runtime.
  [[nodiscard]] bool is_forked() const noexcept {
    return fork_generation_ != base::fork_generation();
  }
  /// @throws used_after_fork
  void check_process() const {
    if (is_forked()) { refuse(); }
    if (state_.load(std::memory_order_relaxed) == states::unused) { note_first_use(); }
  }
  /// Checks that the runtime accepts tasks. Call it before a task is queued. Cost: three loads.
  /// @throws used_after_fork, runtime_closed, poisoned
  void check_usable() const {
    if (is_forked() || faults_.is_poisoned() ||
        state_.load(std::memory_order_acquire) != states::used) {
      check_slowly();
    }
  }

 private:
  enum class states : std::uint8_t { unused, used, closed };

  // Throws used_after_fork, poisoned or runtime_closed.
  [[noreturn]] void refuse() const;
  // Lets the runtime know of the end of the process.
  [[gnu::cold, gnu::noinline]] void note_first_use() const;
  // Notes the first use, or refuses. This function is defined out of line, so that the inlined hot
  // path of `submit` needs fewer registers.
  [[gnu::cold, gnu::noinline]] void check_slowly() const;

  fault_monitor const& faults_;
  std::uint32_t const fork_generation_ = base::fork_generation();
  std::atomic<states> mutable state_{states::unused};
};

}  // namespace flotilla::dispatch
