// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Several tasks that are submitted all or none.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How many tasks will be submitted to one device.
struct reserved_tasks {
  /// If empty, the places are for tasks that any device may run: tasks that name no device and use
  /// no memory of a device. A runtime with a `placement` chooses the device only at the submit, so
  /// there the device must be named.
  optional_device device{};
  std::size_t tasks = 1;
};

class reservation;

/// Reserves places for all these tasks, or for none. If a window has too few free places, the call
/// ends the tasks that are done, as try_submit does, and tries again once.
/// @return Empty if a window has too few free places.
/// @throws invalid_argument  `wanted` asks for more places than the window of a device has, or for
///                           none at all, or names no device although the runtime has a placement.
/// @throws unknown_device
/// @throws runtime_closed, poisoned, used_after_fork
/// Threads  any, even inside a callable.
/// Blocks   never.
/// Cost     as much as try_submit for each place, and some allocations.
[[nodiscard]] FLOTILLA_EXPORT std::optional<reservation> try_reserve(
    runtime& rt, std::span<reserved_tasks const> wanted);
/// Reserves places for tasks of one device.
[[nodiscard]] std::optional<reservation> try_reserve(runtime& rt, reserved_tasks const& wanted);

/// Places in the windows of devices. A task that takes a reserved place is never refused because a
/// window is full, and its submit never waits. The places that are left go back in the destructor.
///
/// While a reservation exists, its places are missing in the windows, as if they had open tasks. So
/// do not wait for room while holding places: `runtime::submit` waits forever if reservations hold
/// the whole window. The waits for tasks, `wait_idle` and `pump` do not count reserved places.
///
/// Threads   as for a std::vector. Different threads may use different reservations.
/// Lifetime  A reservation must end before its runtime does. If it ends later, the destructor
///           prints a message and does nothing else.
/// fork      In a child of fork() every function throws used_after_fork, and the destructor does
///           nothing.
///
/// A moved-from reservation has no places.
class FLOTILLA_EXPORT [[nodiscard]] reservation {
 public:
  reservation(reservation&& other) noexcept;
  reservation& operator=(reservation&& other) noexcept;
  ~reservation();

  /// Submits a task as runtime::submit does, but the task takes a reserved place.
  /// @throws invalid_argument  No reserved place is left for the device of the task.
  /// @throws the exceptions of runtime::submit except window_full. The place stays reserved then,
  ///         and `what` is unchanged.
  /// Blocks  never.
  ticket submit(launch const& what, task_options const& options = detail::default_options);
  ticket submit(memory_op const& what, task_options const& options = detail::default_options);
  ticket submit(callable&& what, task_options const& options = detail::default_options);

  /// Returns how many places are left, for all devices together.
  [[nodiscard]] std::size_t left() const noexcept;

 private:
  friend std::optional<reservation> try_reserve(runtime& rt,
                                                std::span<reserved_tasks const> wanted);
  struct places;
  explicit reservation(std::unique_ptr<places> held) noexcept;
  std::unique_ptr<places> places_;
};

inline std::optional<reservation> try_reserve(runtime& rt, reserved_tasks const& wanted) {
  return try_reserve(rt, std::span{&wanted, 1});
}

}  // namespace v0_1
}  // namespace flotilla
