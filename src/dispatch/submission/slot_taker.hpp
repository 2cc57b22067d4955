// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gets free slots, and waits if a window is full.

#include <cstdint>
#include <span>

#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/submission/places.hpp"
#include "dispatch/waiting/waiter.hpp"

namespace flotilla::dispatch {

/// What a submit does if the window of its device is full.
enum class when_full : std::uint8_t {
  wait,     // wait for a free slot
  collect,  // end the tasks that have completed, and give up if this frees no slot
  give_up,  // give up at once: for callers that hold a lock, because ending tasks may run user code
};

/// Threads: any.
class slot_taker {
 public:
  slot_taker(waiter const& waiter, usage_guard const& usage, place_table const& places) noexcept
      : waiter_(waiter), usage_(usage), places_(places) {}

  /// Returns a free slot of the place's window. Returns no_slot if it gives up.
  /// @throws window_full  The window is full, `if_full` is `wait`, and the caller is inside a
  /// callable.
  /// Also throws the exceptions of usage_guard::check_usable.
  [[nodiscard]] slot_address take(place const& from, inbox& inbox, when_full if_full) const {
    slot_address const slot = from.slots.take(inbox.slots());
    return slot != no_slot ? slot : take_from_full(from, inbox, if_full);
  }
  /// Takes a slot of the window of tasks for any device, for a host task. Waits as `take` does, but
  /// not inside a continuation: the tasks in the window may need the thread of this continuation.
  /// @throws window_full  The window is full, and the caller is inside a callable or continuation.
  [[nodiscard]] slot_address take_for_host_task() const;
  /// Takes one slot for each entry of `devices`, all or none. Holds no slot while it waits for a
  /// full window.
  /// @throws window_full  A window is full, and the caller is inside a callable.
  /// Also throws the exceptions of usage_guard::check_usable.
  void take_all(std::span<unsigned const> devices, priority_level level,
                std::span<slot_address> slots) const;
  /// Like `take_all`, but gives up at once. @return false if a window has too few free slots.
  [[nodiscard]] bool try_take_all(std::span<unsigned const> devices, priority_level level,
                                  std::span<slot_address> slots) const;
  /// Gives back unused slots. Ignores no_slot.
  void give_back(std::span<slot_address const> slots) const noexcept;

 private:
  class window_wait;
  class all_windows_wait;

  // Not inline: inlined code would make the compiler spill registers in the hot path of `submit`.
  [[nodiscard]] slot_address take_from_full(place const& from, inbox& inbox,
                                            when_full if_full) const;
  [[nodiscard]] bool inside_callable() const noexcept;
  /// Returns whether a thread that waits for a slot runs continuations. In single-threaded mode it
  /// must, because a host task in the window may run only there.
  [[nodiscard]] bool runs_continuations() const noexcept;
  [[noreturn]] void refuse_full(place const& full) const;

  waiter const& waiter_;
  usage_guard const& usage_;
  place_table const& places_;
};

}  // namespace flotilla::dispatch
