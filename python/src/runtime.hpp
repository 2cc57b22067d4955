// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The class Runtime.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <flotilla/kernel/program.hpp>
#include <flotilla/task/task_options.hpp>

#include "core.hpp"
#include "ticket.hpp"

namespace flotilla::python {

struct py_runtime {
  core_ptr core;
};

struct py_program {
  core_ptr owner;
  program loaded;
};

/// Loads kernels from bytes. At least one of `gpu` and `cpu` must not be None.
[[nodiscard]] py_program load(py_runtime const& self, nb::handle gpu, nb::handle cpu,
                              std::string name);
[[nodiscard]] py_program load_file(py_runtime const& self, std::filesystem::path const& file);

/// The options of a task, as Python gives them.
struct given_options {
  nb::handle after;      // None, a ticket, or a sequence of tickets
  nb::handle after_end;  // the same
  nb::handle device;     // None or an ordinal
  nb::handle label;      // None or a string
  bool batch = true;
  int priority = 0;
  nb::handle timeout = nb::none();  // None, or seconds
  nb::handle rank = nb::none();     // None, or the number of a rank; only for flows
};

/// The options of a task, with the text of the label.
class converted_options {
 public:
  /// @throws invalid_argument  A member has the wrong type.
  explicit converted_options(given_options const& given);
  converted_options(converted_options const&) = delete;
  converted_options& operator=(converted_options const&) = delete;
  [[nodiscard]] task_options const& get() const noexcept { return options_; }

 private:
  std::string label_;
  task_options options_;
};

/// Returns an ordinal of a device, or empty for None.
[[nodiscard]] std::optional<device_ordinal> device_of(nb::handle given);

/// Submits a Launch, a MemoryOp, or a function of the task.
/// @param self  The Python object of the runtime.
[[nodiscard]] py_ticket submit(nb::handle self, nb::handle what, given_options const& options);
/// Submits a task without a ticket. If it fails, the option `on_error` gets the error.
void post(nb::handle self, nb::handle what, given_options const& options);
/// Makes a ticket a posted task: a continuation keeps the memory of other packages that the task
/// uses, and reports the error.
void post_kept(py_ticket const& made, nb::object const& foreign);
/// Submits launches: of one kernel with Each arguments, or a sequence of Launch and MemoryOp.
[[nodiscard]] py_ticket submit_bulk(nb::handle self, nb::handle what, nb::handle arguments,
                                    nb::handle count, given_options const& options);

/// Makes a runtime from the keyword arguments of Runtime().
[[nodiscard]] core_ptr make_runtime(std::string const& devices, nb::kwargs const& options);

/// Begins a trace of a runtime. @return a Trace
[[nodiscard]] nb::object begin_trace(py_runtime const& self, std::filesystem::path const& file,
                                     std::int64_t every, std::optional<std::int64_t> memory);

void bind_programs(nb::module_& to);
void bind_runtime(nb::module_& to);
void bind_recordings(nb::module_& to);
void bind_traces(nb::module_& to);

}  // namespace flotilla::python
