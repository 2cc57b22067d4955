// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "deferred.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "function.hpp"
#include "kernel.hpp"
#include "log.hpp"
#include "memory.hpp"
#include "runtime.hpp"

namespace flotilla::python {

std::optional<device_ordinal> device_of(nb::handle given) {
  if (given.is_none()) { return std::nullopt; }
  unsigned ordinal = 0;
  if (!nb::try_cast(given, ordinal, false)) {
    PyErr_Clear();
    throw invalid_argument("a device is given by its ordinal, a whole number, but got " +
                           nb::cast<std::string>(nb::repr(given)));
  }
  return device_ordinal{ordinal};
}

namespace {

/// @throws invalid_argument  It is no number, or a negative one, which would mean any rank.
int rank_of(nb::handle given) {
  if (given.is_none()) { return task_options::any_rank; }
  int rank = 0;
  if (nb::try_cast(given, rank, false) && rank >= 0) { return rank; }
  PyErr_Clear();
  throw invalid_argument("the rank of a task is a number from 0, but is " +
                         nb::cast<std::string>(nb::repr(given)));
}

}  // namespace

converted_options::converted_options(given_options const& given) {
  options_.after = dependencies_of(given.after, "after");
  options_.after_end = dependencies_of(given.after_end, "after_end");
  options_.device = device_of(given.device);
  if (!given.label.is_none()) {
    if (!nb::try_cast(given.label, label_, false)) {
      PyErr_Clear();
      throw invalid_argument("the label of a task is a string, but got a " + type_of(given.label));
    }
    options_.label = label_;
  }
  options_.batch = given.batch;
  options_.priority = given.priority;
  if (auto const deadline = deadline_of(given.timeout)) { options_.deadline = *deadline; }
  options_.rank = rank_of(given.rank);
}

void post_kept(py_ticket const& made, nb::object const& foreign) {
  made.task().then([kept = shared_object{foreign.ptr()},
                    report = made.owner().on_error()](std::exception_ptr const& why) {
    if (why == nullptr) { return; }
    if (report) { return report(why); }
    try {
      std::rethrow_exception(why);
    } catch (std::exception const& e) {
      write_error(std::string{"a posted task failed: "} + e.what());
    }
  });
}

namespace {

void check_owner(core_ptr const& mine, core_ptr const& other, char const* what) {
  if (mine != other) {
    throw wrong_runtime(std::string{"the "} + what + " belongs to another runtime");
  }
}

/// Submits without waiting if there is room: that takes less time than to release the GIL and to
/// take it again. Otherwise waits without the GIL.
template <class What>
ticket submit_now(runtime_core& core, What const& what, task_options const& options) {
  runtime& rt = core.usable();
  std::optional<ticket> made = rt.try_submit(what, options);
  if (made) { return std::move(*made); }
  return core.without_gil([&] { return rt.submit(what, options); });
}

bool are_default(given_options const& options) noexcept {
  return options.after.is_none() && options.after_end.is_none() && options.device.is_none() &&
         options.label.is_none() && options.batch && options.priority == 0 &&
         options.timeout.is_none();
}

/// @throws invalid_argument  The object is no function that can be a task.
void check_function(nb::handle what) {
  bool const is_kernel = nb::isinstance<py_shaped_kernel>(what);
  if (PyCallable_Check(what.ptr()) != 0 && !is_kernel) { return; }
  throw invalid_argument(
      "a task is a launch, a copy, a fill or a function, but got a " + type_of(what) +
      (is_kernel ? "; call it with the arguments of the kernel to make a launch" : ""));
}

template <class Given>
void post_given(core_ptr const& core, Given const& given, task_options const& options) {
  if (!given.foreign.is_none()) {
    return post_kept({core, submit_now(*core, given.what, options), given.foreign}, given.foreign);
  }
  runtime& rt = core->usable();
  core->without_gil([&] { rt.post(given.what, options); });
}

}  // namespace

void post(nb::handle self, nb::handle what, given_options const& options) {
  core_ptr const& core = nb::cast<py_runtime const&>(self).core;
  runtime& rt = core->usable();
  converted_options const converted{options};
  if (py_launch const* const given = found<py_launch>(what)) {
    check_owner(core, given->owner, "launch");
    return post_given(core, *given, converted.get());
  }
  if (py_memory_op const* const given = found<py_memory_op>(what)) {
    check_owner(core, given->owner, "copy or fill");
    return post_given(core, *given, converted.get());
  }
  check_function(what);
  callable function = task_function(self, what);
  core->without_gil([&] { rt.post(std::move(function), converted.get()); });
}

py_ticket submit(nb::handle self, nb::handle what, given_options const& options) {
  core_ptr const& core = nb::cast<py_runtime const&>(self).core;
  runtime& rt = core->usable();
  if (py_launch const* const given = found<py_launch>(what)) {
    check_owner(core, given->owner, "launch");
    if (are_default(options)) {
      return {core, submit_now(*core, given->what, detail::default_options), given->foreign};
    }
    converted_options const converted{options};
    return {core, submit_now(*core, given->what, converted.get()), given->foreign};
  }
  converted_options const converted{options};
  if (py_memory_op const* const given = found<py_memory_op>(what)) {
    check_owner(core, given->owner, "copy or fill");
    return {core, submit_now(*core, given->what, converted.get()), given->foreign};
  }
  check_function(what);
  callable function = task_function(self, what);
  ticket made = core->without_gil([&] { return rt.submit(std::move(function), converted.get()); });
  return {core, std::move(made), nb::none()};
}

}  // namespace flotilla::python
