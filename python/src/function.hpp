// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python functions that the runtime calls.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <functional>

#include <flotilla/task/callable.hpp>

#include "core.hpp"

namespace flotilla::python {

class py_ticket;

/// Makes the callable of a task that calls function(task).
/// @param runtime  The Python object of the runtime, which the callable keeps.
[[nodiscard]] callable task_function(nb::handle runtime, nb::handle function);

/// Returns the handle of the stream of a task, or 0 if its device is isolated.
[[nodiscard]] inline std::uintptr_t stream_of(task_context const& task) {
  return task.has_stream() ? reinterpret_cast<std::uintptr_t>(task.stream()) : 0;
}

/// Makes the function of a host task, which calls function().
[[nodiscard]] std::function<void()> host_function(nb::handle runtime, nb::handle function);

/// Call it before a task takes the GIL. @throws runtime_closed  The interpreter has ended.
void check_interpreter();

/// Calls function(*arguments) as a part of a task. The caller must hold the GIL.
/// @throws python_failure  The function raises.
void call_function(PyObject* function, nb::list arguments);
/// Calls function(task, *arguments).
void call_with_context(PyObject* function, task_context& task, nb::list const& arguments);

/// Makes a handler for the errors of posted tasks, which calls function(error).
[[nodiscard]] std::function<void(std::exception_ptr)> error_function(nb::handle function);

/// Makes the continuation of Ticket.then, and attaches it.
/// @param self  The Python object of the ticket.
void attach(py_ticket const& to, nb::handle self, nb::callable function);

void bind_functions(nb::module_& to);

}  // namespace flotilla::python
