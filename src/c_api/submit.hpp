// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all functions that submit a task have in common.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <flotilla/c/task.h>
#include <flotilla/runtime.hpp>
#include <flotilla/task/task_options.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// Converts the options of a task, which must not be null. The label refers to the text of the
/// program.
/// @throws refused_call, unknown_device
[[nodiscard]] task_options options_of(flotilla_task_options const& given);

/// Converts a timeout, which begins now. A timeout that is too long for the clock is none.
[[nodiscard]] inline std::chrono::steady_clock::time_point deadline_in(
    std::uint64_t timeout_ns) noexcept {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  auto const left = static_cast<std::uint64_t>((clock::time_point::max() - now).count());
  return timeout_ns == 0 || timeout_ns >= left
             ? clock::time_point::max()
             : now + std::chrono::nanoseconds{static_cast<std::int64_t>(timeout_ns)};
}

/// Converts a device of options, which may be FLOTILLA_ANY_DEVICE.
/// @throws unknown_device  It is another negative number.
[[nodiscard]] std::optional<device_ordinal> requested_device(int given);

/// Adds the ids of an array of tickets to a list.
/// @param name  The name of the array, for messages.
/// @throws refused_call  A ticket does not exist; or the array is null, but `count` is not 0.
void add_tickets(dependency_list& to, flotilla_ticket const* tickets, std::size_t count,
                 char const* name);

/// Calls `submit_task`, which returns a ticket, and gives the ticket to the program. The place of
/// the ticket is taken first, because nothing may fail after the task was submitted.
template <class Submit>
void hand_out(Submit const& submit_task, flotilla_ticket& to) {
  to.id = ticket_table::get().emplace(submit_task);
}

/// As `guarded`. If the body throws, the program gets no ticket. The handle is written last,
/// because `options->after` may point to the same variable.
template <class Body>
[[nodiscard]] flotilla_status guarded_submit(char const* function, flotilla_ticket* ticket,
                                             Body const& body) noexcept {
  flotilla_status const status = guarded(function, body);
  if (status != FLOTILLA_SUCCESS && ticket != nullptr) { ticket->id = 0; }
  return status;
}

/// Submits a task, or posts it if the program wants no ticket.
/// @param what  A launch, a memory_op, or a callable that is moved.
template <class What>
void submit(runtime& rt, What&& what, flotilla_task_options const* options,
            flotilla_ticket* ticket) {
  auto const submit_with = [&](task_options const& with) {
    if (ticket == nullptr) { return rt.post(std::forward<What>(what), with); }
    hand_out([&] { return rt.submit(std::forward<What>(what), with); }, *ticket);
  };
  if (options == nullptr) { return submit_with(detail::default_options); }
  submit_with(options_of(*options));
}

}  // namespace flotilla::c_api
