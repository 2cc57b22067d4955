// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "ticket.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <flotilla/interop.hpp>
#include <flotilla/task/event_fd.hpp>

#include "deferred.hpp"
#include "errors.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "function.hpp"

namespace flotilla::python {

namespace {

using clock = std::chrono::steady_clock;

std::uintptr_t stream_of(nb::handle given) {
  nb::object stream = nb::borrow(given);
  if (nb::hasattr(given, "__cuda_stream__")) {
    stream = nb::borrow(given.attr("__cuda_stream__"));
    if (PyCallable_Check(stream.ptr()) != 0) { stream = stream(); }
    nb::tuple pair;
    if (!nb::try_cast(stream, pair) || pair.size() != 2) {
      PyErr_Clear();
      throw invalid_argument("__cuda_stream__ must give a version and a handle");
    }
    if (nb::cast<int>(pair[0]) != 0) {
      throw invalid_argument("flotilla knows only version 0 of __cuda_stream__");
    }
    stream = pair[1];
  }
  std::uintptr_t handle = 0;
  if (!nb::try_cast(stream, handle)) {
    PyErr_Clear();
    throw invalid_argument(
        "a stream is an object with __cuda_stream__ or the number of its "
        "handle, but got a " +
        type_of(given));
  }
  return handle;
}

}  // namespace

std::optional<std::chrono::steady_clock::time_point> deadline_of(nb::handle timeout) {
  if (timeout.is_none()) { return std::nullopt; }
  double const seconds = PyFloat_AsDouble(timeout.ptr());
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) { nb::raise_python_error(); }
  if (!(seconds >= 0.0)) {
    throw invalid_argument("a timeout must be 0 or more seconds, but is " +
                           std::to_string(seconds));
  }
  constexpr double max_seconds = 1e9;  // 30 years
  return clock::now() + std::chrono::duration_cast<clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, max_seconds)));
}

ticket const& py_ticket::task() const {
  if (task_.valid()) { return task_; }
  throw invalid_argument(
      "the task runs on another rank, so its ticket cannot be used here; see Ticket.valid");
}

bool py_ticket::is_done() {
  bool const ended = task().ready();
  if (ended) { foreign_ = nb::none(); }
  return ended;
}

void py_ticket::wait(nb::handle timeout) {
  std::optional<clock::time_point> const deadline = deadline_of(timeout);
  bool has_ended = is_done();
  if (!has_ended && deadline) {
    has_ended = owner_->without_gil([&] { return task_.wait_until(*deadline); });
    if (!has_ended) {
      PyErr_SetString(PyExc_TimeoutError, "the task has not ended in time");
      nb::raise_python_error();
    }
  }
  owner_->without_gil([&] { task_.wait(); });  // throws its error
  owner_->note_wait();
  static_cast<void>(is_done());  // releases what the task used
  release_collected();
}

nb::object py_ticket::error() {
  if (!is_done()) { return nb::none(); }
  try {
    owner_->without_gil([&] { task_.wait(); });
    return nb::none();
  } catch (...) { return exception_of(std::current_exception()); }
}

void py_ticket::keep_until_end() noexcept {
  if (!foreign_.is_valid() || foreign_.is_none() || !task_.valid()) { return; }
  try {
    if (detail::has_ended(task_)) { return; }
    shared_object const kept{foreign_.ptr()};
    task_.then([kept](std::exception_ptr const& /*why*/) {});
  } catch (...) {
    // The task may still use the memory, so it must stay.
    static_cast<void>(foreign_.release());
  }
}

dependency_list dependencies_of(nb::handle given, char const* name) {
  dependency_list made;
  if (given.is_none()) { return made; }
  auto const add = [&](nb::handle each) {
    py_ticket const* const task = found<py_ticket>(each);
    if (task == nullptr) {
      throw invalid_argument(std::string{name} + " needs tickets, but got a " + type_of(each));
    }
    made.add(task->task());
  };
  if (nb::isinstance<py_ticket>(given)) {
    add(given);
  } else if (PySequence_Check(given.ptr()) != 0 && !nb::isinstance<nb::str>(given)) {
    for (nb::handle const each : given) { add(each); }
  } else {
    throw invalid_argument(std::string{name} +
                           " needs a ticket or a sequence of tickets, but got a " + type_of(given));
  }
  return made;
}

void bind_tickets(nb::module_& to) {
  nb::class_<py_ticket>(
      to, "Ticket", nb::is_weak_referenceable(),
      "The handle of a submitted task. It can be awaited in asyncio. The task runs "
      "even if its ticket is dropped.")
      .def_prop_ro("valid", &py_ticket::is_valid,
                   "Whether the task runs in this process. Otherwise another rank of the cluster "
                   "runs it, and "
                   "the ticket refuses all other calls: InvalidArgument.")
      .def_prop_ro("done", &py_ticket::is_done, "Whether the task has ended, successfully or not.")
      .def("wait", &py_ticket::wait, nb::arg("timeout") = nb::none(),
           "Waits until the task has ended, for at most `timeout` seconds. Raises the error of the "
           "task, or TimeoutError. The GIL is released meanwhile.")
      .def_prop_ro("error", &py_ticket::error,
                   nb::for_getter(nb::sig("def error(self, /) -> BaseException | None")),
                   "The exception of the task if it has ended with one, otherwise None.")
      .def(
          "cancel", [](py_ticket const& t) { return t.task().cancel(); },
          "Cancels the task if it is not launched yet. Returns whether it will not run.")
      .def_prop_ro(
          "device",
          [](py_ticket const& t) -> std::optional<unsigned> {
            auto const found = t.task().device();
            return found ? std::optional{found->value} : std::nullopt;
          },
          "The ordinal of the device that runs the task, or None if it is not known.")
      .def(
          "then",
          [](nb::object self, nb::callable function) {
            attach(nb::cast<py_ticket const&>(self), self, std::move(function));
          },
          nb::arg("function"),
          "Calls function(error) on a thread of the runtime after the task has ended. error is "
          "None "
          "or the exception of the task.")
      .def(
          "enqueue_wait",
          [](py_ticket const& t, nb::handle stream) {
            auto* const handle = reinterpret_cast<CUstream_st*>(stream_of(stream));
            t.owner().without_gil([&] { enqueue_wait(t.task(), handle); });
          },
          nb::arg("stream"),
          "Makes a CUDA stream of another package wait until the task has ended. The stream is an "
          "object with __cuda_stream__, or the number of its handle.")
      .def(
          "__await__",
          [](nb::handle self) {
            nb::object const future =
                nb::module_::import_("flotilla._asyncio").attr("end_of")(self);
            return future.attr("__await__")();
          },
          nb::sig("def __await__(self) -> collections.abc.Generator[object, None, None]"))
      .def("_needs_pump", [](py_ticket const& t) { return t.owner().is_single_threaded(); })
      .def("_runtime_key",
           [](py_ticket const& t) { return reinterpret_cast<std::uintptr_t>(&t.owner()); })
      .def("_event_fd", [](py_ticket const& t) { return event_fd(t.owner().usable()); })
      .def("_pump",
           [](py_ticket const& t) {
             if (t.owner().is_closed()) { return; }
             runtime& rt = t.owner().usable();
             t.owner().without_gil([&] { rt.pump(); });
           })
      .def("__repr__", [](py_ticket const& t) -> std::string {
        if (!t.is_valid()) { return "<flotilla: ticket of a task of another rank>"; }
        return std::string{"<flotilla: ticket of a task that "} +
               (detail::has_ended(t.task()) ? "has ended>" : "has not ended>");
      });
}

}  // namespace flotilla::python
