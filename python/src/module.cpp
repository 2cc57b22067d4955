// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The extension module flotilla._core. The package flotilla has its public names.
#include <nanobind/nanobind.h>

#include <flotilla/version.hpp>

#include "cluster.hpp"
#include "core.hpp"
#include "data.hpp"
#include "deferred.hpp"
#include "errors.hpp"
#include "flow.hpp"
#include "function.hpp"
#include "kernel.hpp"
#include "log.hpp"
#include "memory.hpp"
#include "runtime.hpp"
#include "ticket.hpp"

NB_MODULE(_core, module) {
  namespace py = flotilla::python;
  // At the end of the interpreter, objects may live that nobody destroys. That is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = nanobind::str(flotilla::version().text.data());
  py::bind_errors(module);
  py::bind_log(module);
  py::bind_kernels(module);
  py::bind_memory(module);
  py::bind_functions(module);
  py::bind_tickets(module);
  py::bind_notifier(module);
  py::bind_programs(module);
  py::bind_runtime(module);
  py::bind_recordings(module);
  py::bind_traces(module);
  py::bind_clusters(module);
  py::bind_data(module);
  py::bind_flows(module);
  module.def(
      "_end",
      [](nanobind::handle error) {
        if (!error.is_none()) { py::fail_clusters(nullptr, py::text_of_exception(error)); }
        py::runtime_core::close_all();
        py::release_collected();
        py::stop_releasing();
      },
      nanobind::arg("error").none());
}
