// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <flotilla/error/compile_error.hpp>

namespace flotilla::python {

namespace {

enum kinds : unsigned {
  other,
  invalid,
  handle,
  no_devices,
  unknown_devices,
  unknown_symbols,
  unknown_settings,
  bad_images,
  gpu_only,
  wrong_runtimes,
  missing_dependencies,
  closed,
  full,
  deadlock,
  dependency,
  bulk,
  cancelled,
  failed,
  poison,
  forked,
  driver,
  tracing,
  memory,
  compilation,
  no_compilers,
  too_late,
  device_faults,
  remote_errors,
  failed_ranks,
  kinds_count
};

struct class_entry {
  char const* name;
  kinds base;
  PyObject** second_base;
  char const* text;
};

// In the order of `kinds`. A base stands before its subclasses.
class_entry const entries[kinds_count] = {
    {"Error", other, &PyExc_Exception, "The base class of all exceptions of flotilla."},
    {"InvalidArgument", other, &PyExc_ValueError, "An argument is invalid, such as an empty grid."},
    {"InvalidHandle", other, nullptr, "An object that the call uses does not exist any more."},
    {"NoDevice", other, nullptr, "There is no driver or no device."},
    {"UnknownDevice", invalid, nullptr, "A device does not exist, or a text selects no device."},
    {"UnknownSymbol", invalid, nullptr, "The program has no kernel or variable of this name."},
    {"UnknownSetting", invalid, nullptr, "A setting does not exist, or its value is not allowed."},
    {"BadImage", other, nullptr, "An image cannot be read or has the wrong format."},
    {"GpuOnlyKernel", other, nullptr,
     "The kernel is only for GPUs, but the runtime has CPU devices."},
    {"WrongRuntime", invalid, nullptr, "A kernel, buffer or ticket belongs to another runtime."},
    {"MissingDependency", other, nullptr,
     "Two tasks use the same memory without an order (FLOTILLA_CHECK=order)."},
    {"RuntimeClosed", other, nullptr, "The runtime was closed."},
    {"WindowFull", other, nullptr,
     "The window of the device is full, and the caller must not wait."},
    {"WouldDeadlock", other, nullptr,
     "The caller is inside the function of a task, and this wait could block forever."},
    {"DependencyFailed", other, nullptr,
     "The task did not run, because a predecessor failed. __cause__ is the error of the "
     "predecessor."},
    {"BulkError", other, nullptr,
     "An item of a bulk failed or was refused. `index` is the item, `count` the number of items, "
     "and __cause__ the error of the item."},
    {"TaskCancelled", other, nullptr, "The task was cancelled, so it did not run."},
    {"TaskFailed", other, nullptr,
     "A kernel reported that its task has failed. `code` is what it reported."},
    {"Poisoned", other, nullptr,
     "The runtime can run no more tasks. `status` is the status of the driver."},
    {"UsedAfterFork", other, nullptr, "A child of fork() used a runtime that its parent had made."},
    {"DriverError", other, nullptr,
     "A call of the CUDA driver failed. `status` is the status of the driver, and `call` the name "
     "of the function."},
    {"TraceFailed", other, nullptr, "A trace cannot begin, or its file cannot be written."},
    {"OutOfMemory", other, &PyExc_MemoryError, "There is no host memory left."},
    {"CompileError", other, nullptr,
     "A source does not compile. `source` is the file of the first error, `line` its line, and "
     "`log` what the compiler printed."},
    {"NoCompiler", other, nullptr, "There is no NVRTC or no C++ compiler."},
    {"TimedOut", other, &PyExc_TimeoutError,
     "A task did not begin before its timeout, or a compiler took too long."},
    {"DeviceFault", other, nullptr,
     "An isolated device was lost. `status` is the status of the driver, `device` the ordinal of "
     "the "
     "device, `suspects` a text, and `may_have_run` says whether the task may have run in part."},
    {"RemoteError", other, nullptr,
     "A task on another rank failed, so its data do not exist here. `rank` is that rank."},
    {"RankFailed", other, nullptr, "A rank of a cluster has failed. `rank` is that rank."},
};

std::array<PyObject*, kinds_count> classes{};

nb::object make(kinds kind, char const* text) {
  return nb::steal(PyObject_CallFunction(classes[kind], "s", text));
}

void set_cause(nb::object const& to, std::exception_ptr const& cause) {
  if (cause != nullptr) { PyException_SetCause(to.ptr(), exception_of(cause).release().ptr()); }
}

/// Rethrows the exception and returns the one for Python.
/// @throws the exception itself if it is none of flotilla
nb::object convert(std::exception_ptr const& why) {
  try {
    std::rethrow_exception(why);
  } catch (python_failure const& e) { return e.take(); } catch (invalid_handle const& e) {
    return make(handle, e.what());
  } catch (driver_error const& e) {
    nb::object made = make(driver, e.what());
    made.attr("status") = static_cast<int>(e.status());
    made.attr("call") = nb::str(e.call().c_str());
    return made;
  } catch (poisoned const& e) {
    nb::object made = make(poison, e.what());
    made.attr("status") = static_cast<int>(e.status());
    return made;
  } catch (device_fault const& e) {
    nb::object made = make(device_faults, e.what());
    made.attr("status") = static_cast<int>(e.status());
    made.attr("device") = e.device().value;
    made.attr("suspects") = nb::str(e.suspects().c_str());
    made.attr("may_have_run") = e.may_have_run();
    return made;
  } catch (remote_error const& e) {
    nb::object made = make(remote_errors, e.what());
    made.attr("rank") = e.rank();
    return made;
  } catch (rank_failed const& e) {
    nb::object made = make(failed_ranks, e.what());
    made.attr("rank") = e.rank();
    return made;
  } catch (dependency_failed const& e) {
    nb::object made = make(dependency, e.what());
    set_cause(made, e.cause());
    return made;
  } catch (bulk_error const& e) {
    nb::object made = make(bulk, e.what());
    made.attr("index") = e.index();
    made.attr("count") = e.count();
    set_cause(made, e.cause());
    return made;
  } catch (task_failed const& e) {
    nb::object made = make(failed, e.what());
    made.attr("code") = e.code();
    return made;
  } catch (no_device const& e) {
    return make(no_devices, e.what());
  } catch (unknown_device const& e) {
    return make(unknown_devices, e.what());
  } catch (unknown_symbol const& e) {
    return make(unknown_symbols, e.what());
  } catch (unknown_setting const& e) {
    return make(unknown_settings, e.what());
  } catch (wrong_runtime const& e) {
    return make(wrong_runtimes, e.what());
  } catch (invalid_argument const& e) {  // the base of the four before
    return make(invalid, e.what());
  } catch (bad_image const& e) {
    return make(bad_images, e.what());
  } catch (compile_error const& e) {
    nb::object made = make(compilation, e.what());
    made.attr("source") = nb::str(e.source().c_str());
    made.attr("line") = e.line();
    made.attr("log") = nb::str(e.log().c_str());
    return made;
  } catch (no_compiler const& e) {
    return make(no_compilers, e.what());
  } catch (timed_out const& e) {
    return make(too_late, e.what());
  } catch (gpu_only_kernel const& e) {
    return make(gpu_only, e.what());
  } catch (missing_dependency const& e) {
    return make(missing_dependencies, e.what());
  } catch (runtime_closed const& e) {
    return make(closed, e.what());
  } catch (window_full const& e) { return make(full, e.what()); } catch (would_deadlock const& e) {
    return make(deadlock, e.what());
  } catch (task_cancelled const& e) {
    return make(cancelled, e.what());
  } catch (used_after_fork const& e) {
    return make(forked, e.what());
  } catch (trace_failed const& e) { return make(tracing, e.what()); } catch (error const& e) {
    return make(other, e.what());
  } catch (std::bad_alloc const&) {
    return make(memory, "there is no host memory left");
  } catch (nb::cast_error const&) {
    return nb::steal(PyObject_CallFunction(
        PyExc_TypeError, "s", "an object has the wrong type, or was never constructed"));
  }
}

void translate(std::exception_ptr const& why, void* /*unused*/) {
  nb::object const made = convert(why);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

std::string text_of_exception(nb::handle raised) {
  auto made = nb::cast<std::string>(raised.type().attr("__name__"));
  try {
    auto const message = nb::cast<std::string>(nb::str(raised));
    if (!message.empty()) { made += ": " + message; }
  } catch (nb::python_error const&) {  // its __str__ raises
  }
  return made;
}

python_failure::python_failure(nb::python_error const& raised)
    : text_{text_of_exception(raised.value())} {
  nb::object const value = nb::borrow(raised.value());
  nb::object copy = value;
  try {
    copy = nb::module_::import_("flotilla._failures").attr("keep")(value);
  } catch (nb::python_error const&) {  // no memory: the exception itself is kept
  }
  kept_ = std::make_shared<kept_exception>(
      kept_exception{shared_object{value.ptr()}, shared_object{copy.ptr()}});
}

nb::object python_failure::take() const {
  if (std::optional<shared_object> const original = std::exchange(kept_->original, std::nullopt)) {
    return nb::borrow(original->get());
  }
  nb::handle const copy{kept_->copy.get()};
  try {
    return nb::module_::import_("flotilla._failures").attr("copy")(copy);
  } catch (nb::python_error const&) { return nb::borrow(copy); }  // as in the constructor
}

nb::object exception_of(std::exception_ptr const& why) {
  try {
    return convert(why);
  } catch (nb::python_error& e) { return nb::borrow(e.value()); } catch (std::exception const& e) {
    return make(other, e.what());
  } catch (...) { return make(other, "an exception that is not derived from std::exception"); }
}

void bind_errors(nb::module_& to) {
  for (unsigned i = 0; i < kinds_count; ++i) {
    class_entry const& entry = entries[i];
    nb::object bases;
    if (i == other) {
      bases = nb::borrow(*entry.second_base);
    } else if (entry.second_base != nullptr) {
      bases = nb::make_tuple(nb::handle(classes[entry.base]), nb::handle(*entry.second_base));
    } else {
      bases = nb::borrow(classes[entry.base]);
    }
    std::string const name = std::string{"flotilla."} + entry.name;
    // Kept until the process ends, because exceptions may be made until then.
    classes[i] = PyErr_NewExceptionWithDoc(name.c_str(), entry.text, bases.ptr(), nullptr);
    if (classes[i] == nullptr) { nb::raise_python_error(); }
    to.attr(entry.name) = nb::borrow(classes[i]);
  }
  nb::register_exception_translator(translate);
}

}  // namespace flotilla::python
