// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The class Trace.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/trace.hpp>

#include "runtime.hpp"

namespace flotilla::python {

namespace {

/// A trace of a runtime. The runtime ends it if the program does not.
/// Threads: the caller of each function must hold the GIL.
class py_trace final : public owned_part {
 public:
  py_trace(core_ptr owner, trace_options options) : owner_{std::move(owner)} {
    runtime& rt = owner_->usable();
    held_.emplace(owner_->without_gil([&] { return trace{rt, std::move(options)}; }));
    owner_->add(*this);
  }
  py_trace(py_trace const&) = delete;
  py_trace& operator=(py_trace const&) = delete;
  ~py_trace() override {
    free();
    owner_->remove(*this);
  }
  bool free() noexcept override {
    std::optional<trace> ending = std::exchange(held_, std::nullopt);
    nb::gil_scoped_release const released;  // the trace waits for its thread
    ending.reset();
    return true;
  }

  /// Ends the trace. Later calls return the same.
  trace_summary end() {
    if (std::optional<trace> ending = std::exchange(held_, std::nullopt)) {
      summary_ = owner_->without_gil([&] { return ending->end(); });
    }
    if (!summary_) { throw trace_failed("the trace was not completed"); }
    return *summary_;
  }

 private:
  core_ptr const owner_;
  std::optional<trace> held_;  // empty after the end
  std::optional<trace_summary> summary_;
};

trace_options options_of(std::filesystem::path file, std::int64_t every,
                         std::optional<std::int64_t> memory) {
  trace_options made{.file = std::move(file)};
  if (every < 1 || every > std::numeric_limits<std::uint32_t>::max()) {
    throw invalid_argument("'every' must be from 1 to 2^32 - 1, but is " + std::to_string(every));
  }
  made.every = static_cast<std::uint32_t>(every);
  if (memory) { made.memory = static_cast<std::size_t>(std::max<std::int64_t>(*memory, 0)); }
  return made;
}

}  // namespace

nb::object begin_trace(py_runtime const& self, std::filesystem::path const& file,
                       std::int64_t every, std::optional<std::int64_t> memory) {
  return nb::cast(new py_trace{self.core, options_of(file, every, memory)},
                  nb::rv_policy::take_ownership);
}

void bind_traces(nb::module_& to) {
  nb::class_<trace_summary>(to, "TraceSummary", "What is in a trace that has ended.")
      .def_ro("tasks", &trace_summary::tasks)
      .def_ro("dropped", &trace_summary::dropped, "Events that found no room in the buffers.")
      .def_ro("unfinished", &trace_summary::unfinished,
              "Tasks that had not ended. Most of them are drawn, too.")
      .def_ro("bytes", &trace_summary::bytes, "The size of the file.");
  nb::class_<py_trace>(to, "Trace",
                       "Writes a trace of a runtime until `end`. As a context manager, it ends at "
                       "the end of the block.")
      .def("end", &py_trace::end,
           "Ends the trace, waits until the file is complete, and returns a TraceSummary. Raises "
           "TraceFailed if the file could not be written.")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Trace"))
      .def(
          "__exit__",
          [](py_trace& self, nb::args const& why) {
            // An exception of the block says more than an error of the trace.
            bool const is_after_error = why.size() > 0 && !why[0].is_none();
            if (is_after_error) {
              self.free();
            } else {
              self.end();
            }
          },
          nb::arg("why"));
}

}  // namespace flotilla::python
