// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checks of one runtime, as submit and the waits call them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/detail/event_command.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/settings/checks.hpp>
#include <flotilla/task/task_id.hpp>

#include "dispatch/check/argument_check.hpp"
#include "dispatch/check/order_check.hpp"
#include "dispatch/check/task_accesses.hpp"

namespace flotilla::dispatch {

/// Exists only if the runtime makes at least one check. Threads: any.
class submit_checks {
 public:
  submit_checks(checks which, argument_check::parts const& parts)
      : which_(which), kernels_(parts.kernels), arguments_(parts), accesses_(parts.api) {}

  [[nodiscard]] checks which() const noexcept { return which_; }

  // ---- submit ----

  /// Checks the arguments of a launch that is submitted or recorded.
  /// @param device  Index of the device that runs the launch. Empty: any device may take it.
  /// @throws invalid_argument
  void check_arguments(launch const& what, std::string_view label,
                       std::optional<unsigned> device) const {
    if (which_.arguments) { arguments_.check(what, label, device); }
  }
  /// Returns how the program has freed memory of its own, as the end of a clause. Empty if the
  /// memory exists, or the runtime does not check arguments.
  /// @param is_buffer  Whether the memory was a buffer. Otherwise, it was pageable.
  [[nodiscard]] std::string freed(std::uintptr_t address, std::size_t bytes, bool is_buffer) const {
    return which_.arguments ? arguments_.freed(address, bytes, is_buffer) : std::string{};
  }
  /// Checks the order of a task before it is opened. If the task is not opened after all, the
  /// caller must `withdraw` it.
  /// @param name    The name that the task will have.
  /// @param inside   The callables in which the calling thread is.
  /// @param by_flow  Whether a flow submits the task.
  /// @throws missing_dependency
  void check_order(launch const& what, task_options const& how, task_name name,
                   std::span<task_name const> inside, bool by_flow);
  void check_order(detail::memory_command const& what, task_options const& how, task_name name,
                   std::span<task_name const> inside, bool by_flow);
  /// Adds a callable, which may connect other tasks. Its own memory is not known.
  void check_order(callable const& what, task_options const& how, task_name name,
                   std::span<task_name const> inside, bool by_flow);
  /// Adds a task that waits for an event of the application, which may connect other tasks.
  void check_order(detail::event_command const& what, task_options const& how, task_name name,
                   std::span<task_name const> inside, bool by_flow = false);
  /// @param device    Index of the device that replays the part.
  /// @param accesses  The memory that the part of the recording uses.
  void check_order_of_host_task(task_options const& how, task_name name,
                                std::span<task_name const> inside);
  void check_order_of_replay(unsigned device, std::vector<memory_access> accesses,
                             task_options const& how, task_name name,
                             std::span<task_name const> inside);
  void withdraw(task_name name) noexcept {
    if (which_.order) { order_.withdraw(name); }
  }
  /// Returns a task as the order check stores it.
  [[nodiscard]] checked_task describe(launch const& what, std::string_view label) const;
  [[nodiscard]] checked_task describe(detail::memory_command const& what,
                                      std::string_view label) const;

  // ---- what the host knows ----

  /// Records that the host knows that the task has ended.
  void observed(task_id const& id) noexcept {
    if (which_.order) { order_.observed({id.slot, id.generation}); }
  }
  /// Returns the number that the next task will get. Pass it to `observed_before` after a wait for
  /// all tasks.
  [[nodiscard]] task_number next() const { return which_.order ? order_.next() : 0; }
  void observed_before(task_number number) {
    if (which_.order) { order_.observed_before(number); }
  }
  /// Records that the program has destroyed a buffer.
  void destroyed(std::uintptr_t address, std::size_t bytes) noexcept;

 private:
  checks const which_;
  kernel_table const& kernels_;
  argument_check arguments_;
  task_accesses const accesses_;
  order_check order_;
};

/// Tells the checks that the host knows that the task has ended. @param checks  May be null.
inline void note_end(submit_checks* checks, task_id const& id) noexcept {
  if (checks != nullptr) { checks->observed(id); }
}

}  // namespace flotilla::dispatch
