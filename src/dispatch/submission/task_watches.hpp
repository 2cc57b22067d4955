// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can cancel a task besides its ticket: a deadline and a stop token.

#include <stop_token>

#include "dispatch/fault/overdue_tasks.hpp"
#include "dispatch/submission/option_types.hpp"
#include "dispatch/task/slot_side.hpp"

namespace flotilla::dispatch {

/// Cancels the open task when `stop` requests it. Call this after open_slot, because a token that
/// has already requested a stop cancels the task at once, and before the task is pushed. Not
/// inline, because few tasks have a token.
[[gnu::noinline]] inline void watch_stop(overdue_tasks& overdue, slot& task, slot_side& side,
                                         slot_address address, std::uint64_t generation,
                                         std::stop_token const& stop) noexcept {
  side.watch->stop.emplace(
      stop, stop_request{&overdue_tasks::cancel_on_stop, &overdue, address, generation});
  // Only now: the thread that ends the task destroys the callback if the bit is set, and the task
  // may end while this thread constructs the callback.
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (generation_word{word}.generation() == generation) {
    if (task.generation.compare_exchange_weak(word, word | generation_word::stoppable_bit,
                                              std::memory_order_acq_rel)) {
      return;
    }
  }
  side.watch->stop.reset();
}

/// Watches the deadline and the stop token of a task. Call it after open_slot and before the task
/// is pushed.
template <class Options>
inline void watch(overdue_tasks& overdue, slot& task, slot_side& side, slot_address address,
                  std::uint64_t generation, Options const& options) noexcept {
  // The deadline first: its entry must be in the queue before a stop can end the task.
  if (has_deadline(options)) [[unlikely]] { overdue.watch(address, generation, options.deadline); }
  if (options.stop.stop_possible()) [[unlikely]] {
    watch_stop(overdue, task, side, address, generation, full(options).stop.token());
  }
}

}  // namespace flotilla::dispatch
