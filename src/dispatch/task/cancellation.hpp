// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cancels tasks that are not launched yet: the handshake between a thread that cancels a task and
// the thread that launches the task.
//
//   canceller (any thread)                        launcher (holder of the device's lease)
//   ----------------------                        ---------------------------------------
//   read `starting`
//   true?  set `withdrawn` in the generation word
//   false? set `requested`                        store `starting`
//   fence                                         fence (one for all tasks of a batch)
//   read `starting`                               read the generation word
//   false? change `requested` to `cancelled`      `requested`? change it to `cancelled`
//   true?  change `requested` to `withdrawn`      `cancelled`? end the task, do not launch it
//
// The first read only ensures that no launcher sees a request if the launch has begun long ago, as
// that of a replay. Afterwards, at least one of the two threads sees what the other has written.
// Only one of them changes `requested`, and all threads obey the result. So launching costs a task
// one store and one load of a cache line that the launcher writes anyway, and no atomic
// read-modify-write operation (tests/unit/dispatch/task/cancellation_model_test.cpp).

#include <atomic>
#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

enum class cancel_answer : std::uint8_t {
  will_not_run,
  launched,  // the launch has begun, so the task runs
  ended,     // the task had already ended
};

/// Tries to cancel a task. Takes no lock. Threads: any.
[[nodiscard]] inline cancel_answer request_cancel(slot& task, std::uint64_t generation) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_acquire);
  while (true) {
    generation_word const now{word};
    if (now.generation() != generation) { return cancel_answer::ended; }
    if (now.cancel() == cancel_state::cancelled) { return cancel_answer::will_not_run; }
    if (now.cancel() == cancel_state::withdrawn) { return cancel_answer::launched; }
    // In `requested`, the fence pairs with the fence of the launcher.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // acquire: pairs with the release in `encode`. If `starting` belongs to a later task of this
    // slot, the generation has changed, and the exchange fails.
    bool const is_starting = task.starting.load(std::memory_order_acquire);
    cancel_state const next = is_starting                          ? cancel_state::withdrawn
                              : now.cancel() == cancel_state::none ? cancel_state::requested
                                                                   : cancel_state::cancelled;
    std::uint64_t const changed = now.with(next);
    if (task.generation.compare_exchange_strong(word, changed, std::memory_order_acq_rel)) {
      word = changed;
    }
  }
}

/// The callable of a std::stop_callback: cancels a task.
struct stop_request {
  slot* task;
  std::uint64_t generation;
  void operator()() const noexcept { static_cast<void>(request_cancel(*task, generation)); }
};

// ---- the holder of the lease of the device that has the task ----

/// Returns whether the task was cancelled. If so, the caller must end the task and not launch it.
/// Without `begin_launch` and a fence before the call, a request may remain unseen.
[[nodiscard]] inline bool is_cancelled(slot& task) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (generation_word{word}.cancel() == cancel_state::requested) [[unlikely]] {
      std::uint64_t const cancelled = generation_word{word}.with(cancel_state::cancelled);
      if (task.generation.compare_exchange_weak(word, cancelled, std::memory_order_acq_rel)) {
        return true;
      }
    }
  return generation_word{word}.cancel() == cancel_state::cancelled;
}

/// Announces the launch of a task. Call `launch_fence` after it, and then `is_cancelled`.
inline void begin_launch(slot& task) noexcept {
  task.starting.store(true, std::memory_order_relaxed);
}
inline void launch_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in request_cancel
}
/// Makes a task cancellable again whose launch was given up.
inline void give_up_launch(slot& task) noexcept {
  task.starting.store(false, std::memory_order_relaxed);
}

/// Begins the launch of one task. @return whether the task was cancelled. If so, the caller must
/// end the task and not launch it.
[[nodiscard]] inline bool cancelled_before_launch(slot& task) noexcept {
  begin_launch(task);
  launch_fence();
  return is_cancelled(task);
}

}  // namespace flotilla::dispatch
