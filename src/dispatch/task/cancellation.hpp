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
//
// A cancelled task must end soon, even if a queue holds its slot that no thread reads: an inbox,
// the list of a predecessor, a queue of the device. So two threads may want to end it, and they
// decide with one exchange in the same word:
//
//   canceller (any thread)                        thread that has the slot in its queue
//   ----------------------                        -------------------------------------
//   change `cancelled` to `ending`                change `cancelled` to `taken`
//   end the task; keep the slot                   end the task, give the slot back
//   `ending`?  change it to `left`                `ending`?  change it to `dropped`
//   `dropped`? give the slot back                 `left`?    give the slot back
//
// So the slot goes back when the task has ended and no queue has the slot any more.

#include <atomic>
#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

enum class cancel_answer : std::uint8_t {
  will_not_run,
  launched,  // the launch has begun, so the task runs
  ended,     // the task had already ended
};

enum class cancel_reason : std::uint8_t {
  request,   // ticket::cancel or a stop token
  deadline,  // task_options::deadline
};

/// Tries to cancel a task. If several threads cancel a task, the reason of the first one counts.
/// Takes no lock. Threads: any.
[[nodiscard]] inline cancel_answer request_cancel(
    slot& task, std::uint64_t generation, cancel_reason why = cancel_reason::request) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_acquire);
  while (true) {
    generation_word const now{word};
    if (now.generation() != generation) { return cancel_answer::ended; }
    if (is_final_cancellation(now.cancel())) { return cancel_answer::will_not_run; }
    if (now.cancel() == cancel_state::withdrawn) { return cancel_answer::launched; }
    // In `requested`, the fence pairs with the fence of the launcher.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // acquire: pairs with the release in `encode`. If `starting` belongs to a later task of this
    // slot, the generation has changed, and the exchange fails.
    bool const is_starting = task.starting.load(std::memory_order_acquire);
    cancel_state const next = is_starting                          ? cancel_state::withdrawn
                              : now.cancel() == cancel_state::none ? cancel_state::requested
                                                                   : cancel_state::cancelled;
    bool const expires = next == cancel_state::requested && why == cancel_reason::deadline;
    std::uint64_t const changed = now.with(next) | (expires ? generation_word::expired_bit : 0);
    if (task.generation.compare_exchange_strong(word, changed, std::memory_order_acq_rel)) {
      word = changed;
    }
  }
}

/// Takes over the end of a cancelled task. @return false if the task has ended, if another thread
/// ends it, or if it must not end before its predecessors. Otherwise the caller must call
/// task_end::end_early, and until then the slot keeps the task. Threads: any.
[[nodiscard]] inline bool claim_early_end(slot& task, std::uint64_t generation) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (true) {
    generation_word const now{word};
    if (now.generation() != generation || now.cancel() != cancel_state::cancelled ||
        now.ends_late()) {
      return false;
    }
    if (task.generation.compare_exchange_weak(word, now.with(cancel_state::ending),
                                              std::memory_order_acq_rel)) {
      return true;
    }
  }
}
/// Ends the use of a slot by the thread that has ended its task early. The generation must have
/// increased. @return whether the caller must give the slot back.
[[nodiscard]] inline bool leave_early_end(slot& task) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (true) {
    generation_word const now{word};
    std::uint64_t const plain = generation_word::of(now.generation());
    bool const is_dropped = now.cancel() == cancel_state::dropped;
    std::uint64_t const changed =
        is_dropped ? plain : generation_word{plain}.with(cancel_state::left);
    if (task.generation.compare_exchange_weak(word, changed, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
      return is_dropped;
    }
  }
}

/// The callable of a std::stop_callback: cancels a task and ends it.
struct stop_request {
  void (*cancel)(void* context, slot_address task, std::uint64_t generation) noexcept;
  void* context;
  slot_address task;
  std::uint64_t generation;
  void operator()() const noexcept {
    // Nothing here may use the object after the call, because the end of the task destroys it.
    cancel(context, task, generation);
  }
};

// ---- the thread that has the task in a queue: the holder of the lease of its device ----

/// Returns whether the task was cancelled. If so, the caller must not launch it, but take it out of
/// its queue and call `take_end`. Without `begin_launch` and a fence before the call, a request may
/// remain unseen.
[[nodiscard]] inline bool is_cancelled(slot& task) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (generation_word{word}.cancel() == cancel_state::requested) [[unlikely]] {
      std::uint64_t const cancelled = generation_word{word}.with(cancel_state::cancelled);
      if (task.generation.compare_exchange_weak(word, cancelled, std::memory_order_acq_rel)) {
        return true;
      }
    }
  return is_final_cancellation(generation_word{word}.cancel());
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

/// Takes over the end of a task that is not launched and will not be, for any reason.
/// @return false if another thread has ended the task or is ending it. Then the caller must call
/// task_end::drop after the slot was taken out of its queue.
[[nodiscard]] inline bool take_end(slot& task) noexcept {
  // From now on, no other thread can cancel the task.
  begin_launch(task);
  launch_fence();
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (true) {
    generation_word const now{word};
    cancel_state const state = now.cancel();
    if (state > cancel_state::taken) { return false; }
    if (state != cancel_state::requested && state != cancel_state::cancelled) { return true; }
    if (task.generation.compare_exchange_weak(word, now.with(cancel_state::taken),
                                              std::memory_order_acq_rel)) {
      return true;
    }
  }
}
/// Ends the use of a slot whose task another thread ends. @return whether the caller must give the
/// slot back.
[[nodiscard]] inline bool leave_queue(slot& task) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_acquire);
  while (true) {
    generation_word const now{word};
    bool const has_ended = now.cancel() == cancel_state::left;
    std::uint64_t const changed =
        has_ended ? generation_word::of(now.generation()) : now.with(cancel_state::dropped);
    if (task.generation.compare_exchange_weak(word, changed, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
      return has_ended;
    }
  }
}

}  // namespace flotilla::dispatch
