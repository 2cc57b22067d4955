// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tickets, and asyncio.

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/ticket.hpp>

#include "core.hpp"

namespace flotilla::python {

/// A ticket. It keeps the arrays of other packages that its task uses until the task has ended,
/// also if the program drops the ticket earlier.
class py_ticket {
 public:
  py_ticket(core_ptr owner, ticket task, nb::object foreign) noexcept
      : owner_{std::move(owner)}, task_{std::move(task)}, foreign_{std::move(foreign)} {}
  py_ticket(py_ticket&&) noexcept = default;
  py_ticket& operator=(py_ticket&&) noexcept = default;
  ~py_ticket() { keep_until_end(); }

  /// Whether the task runs in this process.
  [[nodiscard]] bool is_valid() const noexcept { return task_.valid(); }
  /// @throws invalid_argument  Another rank runs the task.
  [[nodiscard]] ticket const& task() const;
  [[nodiscard]] runtime_core& owner() const noexcept { return *owner_; }
  /// In single-threaded mode it may pump.
  [[nodiscard]] bool is_done();
  /// Waits for the end, for at most `timeout` seconds. None: without a limit. Python's signal
  /// handlers run meanwhile.
  /// @throws the error of the task, or TimeoutError
  void wait(nb::handle timeout);
  /// The exception of an ended task; otherwise None.
  [[nodiscard]] nb::object error();

 private:
  /// If the task has not ended, makes a continuation keep what the task uses.
  void keep_until_end() noexcept;

  core_ptr owner_;
  ticket task_;
  nb::object foreign_;
};

/// Returns the tasks of an argument `after`: None, a ticket, or a sequence of tickets.
/// @throws invalid_argument  It is something else.
[[nodiscard]] dependency_list dependencies_of(nb::handle given, char const* name);

/// Returns the time that is `timeout` seconds from now, or empty for None.
/// @throws invalid_argument  It is negative. @throws TypeError  It is no number.
[[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline_of(nb::handle timeout);

void bind_tickets(nb::module_& to);
/// The class Notifier, with which an event loop learns that tasks have ended.
void bind_notifier(nb::module_& to);

}  // namespace flotilla::python
