// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "deferred.hpp"
#include "errors.hpp"
#include "ticket.hpp"

namespace flotilla::python {

namespace {

/// What a Python function knows about its task. It is of use only until the function returns.
struct py_task_context {
  bool is_valid = true;
  unsigned device = 0;
  std::uintptr_t context = 0;
  std::uintptr_t stream = 0;

  [[nodiscard]] py_task_context const& with_stream() const {
    if (checked().stream == 0) {
      throw invalid_argument("device " + std::to_string(device) +
                             " is isolated, so its context and streams are in another process, and "
                             "a function cannot use them");
    }
    return *this;
  }
  [[nodiscard]] py_task_context const& checked() const {
    if (!is_valid) {
      throw invalid_handle(
          "the function of the task has returned, so its TaskContext is of no use");
    }
    return *this;
  }
};

/// Ends a TaskContext at the end of the block.
class context_scope {
 public:
  explicit context_scope(nb::handle context) : context_{nb::inst_ptr<py_task_context>(context)} {}
  context_scope(context_scope const&) = delete;
  context_scope& operator=(context_scope const&) = delete;
  ~context_scope() { context_->is_valid = false; }

 private:
  py_task_context* context_;
};

/// Calls the function of a task. The caller must hold the GIL.
/// @throws python_failure  The function raises.
template <class... Arguments>
void call(PyObject* function, Arguments&&... arguments) {
  inside_function const inside;
  try {
    nb::handle{function}(std::forward<Arguments>(arguments)...);
  } catch (nb::python_error const& raised) { throw python_failure{raised}; }
}

/// Calls a function for which nobody waits. Prints its exception as Python does for destructors.
void call_unraisable(PyObject* function, nb::object const& error) {
  inside_function const inside;
  try {
    nb::handle{function}(error);
  } catch (nb::python_error& raised) { raised.discard_as_unraisable(nb::handle{function}); }
}

nb::object context_of(task_context& task) {
  bool const has_stream = task.has_stream();
  return nb::cast(py_task_context{true, task.device().ordinal.value,
                                  has_stream ? reinterpret_cast<std::uintptr_t>(task.context()) : 0,
                                  stream_of(task)});
}

nb::object object_of(std::exception_ptr const& why) {
  return why == nullptr ? nb::none() : exception_of(why);
}

}  // namespace

void check_interpreter() {
  if (has_stopped_releasing()) { throw runtime_closed("the Python interpreter has ended"); }
}

void call_function(PyObject* function, nb::list arguments) { call(function, *arguments); }

void call_with_context(PyObject* function, task_context& task, nb::list const& arguments) {
  nb::object const context = context_of(task);
  context_scope const scope{context};
  call(function, context, *arguments);
}

callable task_function(nb::handle runtime, nb::handle function) {
  return [owner = shared_object{runtime.ptr()},
          held = shared_object{function.ptr()}](task_context& task) {
    check_interpreter();
    nb::gil_scoped_acquire const gil;
    nb::object const context = context_of(task);
    context_scope const scope{context};
    call(held.get(), context);
  };
}

std::function<void()> host_function(nb::handle runtime, nb::handle function) {
  return [owner = shared_object{runtime.ptr()}, held = shared_object{function.ptr()}] {
    check_interpreter();
    nb::gil_scoped_acquire const gil;
    call(held.get());
  };
}

std::function<void(std::exception_ptr)> error_function(nb::handle function) {
  return [held = shared_object{function.ptr()}](std::exception_ptr const& why) {
    if (has_stopped_releasing()) { return; }
    nb::gil_scoped_acquire const gil;
    call_unraisable(held.get(), object_of(why));
  };
}

void attach(py_ticket const& to, nb::handle self, nb::callable function) {
  to.task().then([ticket = shared_object{self.ptr()},
                  held = shared_object{function.ptr()}](std::exception_ptr const& why) {
    if (has_stopped_releasing()) { return; }
    nb::gil_scoped_acquire const gil;
    call_unraisable(held.get(), object_of(why));
  });
}

void bind_functions(nb::module_& to) {
  nb::class_<py_task_context>(to, "TaskContext",
                              "What a Python function knows about its task, until it returns. The "
                              "context of the device is current meanwhile.")
      .def_prop_ro(
          "device", [](py_task_context const& c) { return c.checked().device; },
          "The ordinal of the device.")
      .def_prop_ro(
          "context", [](py_task_context const& c) { return c.with_stream().context; },
          "The CUcontext, as a number.")
      .def_prop_ro(
          "stream", [](py_task_context const& c) { return c.with_stream().stream; },
          "The CUstream, as a number. The task ends when the work in it has ended.")
      .def(
          "__cuda_stream__",
          [](py_task_context const& c) { return nb::make_tuple(0, c.with_stream().stream); },
          "The stream for other packages: (0, stream).");
}

}  // namespace flotilla::python
