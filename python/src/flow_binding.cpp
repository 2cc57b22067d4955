// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The Python class Flow.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/data/flow.hpp>
#include <flotilla/error/error.hpp>

#include "data.hpp"
#include "errors.hpp"
#include "flow_function.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "function.hpp"
#include "kernel.hpp"
#include "loop.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

/// Whether a task is posted or has a ticket.
enum class result { ticket, none };

/// What a submit returns to Python: a Ticket, or None.
nb::object ended(core_ptr const& core, ticket made, nb::object const& foreign, result wanted) {
  if (wanted == result::none) { return nb::none(); }
  return nb::cast(py_ticket{core, std::move(made), foreign});
}

/// Submits a launch whose arguments can be uses of data.
nb::object submit_launch(flow_core& flow, py_shaped_kernel const& kernel, nb::args const& arguments,
                         given_options const& given, result wanted) {
  converted_options const options{given};
  used_data uses;
  kept_objects kept;
  data_launch const what = make_data_launch(flow, kernel, arguments, uses, kept);
  nb::object foreign = kept.foreign();
  if (wanted == result::none && flow.is_repeating()) {
    // The flow may replay the task after this call, so the flow must keep what the task uses.
    if (!kept.all().is_none()) {
      for (nb::handle const each : nb::borrow<nb::list>(kept.all())) { flow.keep(each); }
    }
    foreign = nb::none();
  }
  if (wanted == result::none && foreign.is_none()) {
    flow.without_gil([&](flotilla::flow& to) { to.post(what, options.get()); });
    return nb::none();
  }
  ticket made =
      flow.without_gil([&](flotilla::flow& to) { return to.submit(what, options.get()); });
  if (wanted == result::ticket) { return ended(flow.owner(), std::move(made), foreign, wanted); }
  if (!made.valid()) { return nb::none(); }  // the task runs on another rank
  post_kept({flow.owner(), std::move(made), foreign}, foreign);
  return nb::none();
}

/// Adds the uses of a function.
void add_uses(flow_core const& flow, nb::args const& given, used_data& uses, data_function& to) {
  if (given.size() > detail::max_uses) {
    throw invalid_argument("a task can use at most " + std::to_string(detail::max_uses) +
                           " data, but got " + std::to_string(given.size()));
  }
  for (nb::handle const each : given) {
    py_use const* const use = found<py_use>(each);
    if (use == nullptr) {
      throw invalid_argument("a function gets uses of data, such as flotilla.read(x), but got a " +
                             type_of(each));
    }
    uses.add(flow, *use);
    to.add(*use);
  }
}

void check_callable(nb::handle what) {
  if (PyCallable_Check(what.ptr()) != 0 && !nb::isinstance<py_launch>(what)) { return; }
  throw invalid_argument(
      nb::isinstance<py_launch>(what)
          ? "a flow takes the arguments of a kernel itself: Flow.submit(kernel.over(n), read(x))"
          : "a task of a flow is a kernel with its shape, or a function, but got a " +
                type_of(what));
}

/// Submits a function. `make` makes the body of the task from a std::unique_ptr<data_function>.
template <class Make>
nb::object submit_function(nb::handle self, nb::handle function, nb::args const& given,
                           given_options const& with, result wanted, Make const& make) {
  flow_core& flow = *nb::cast<py_flow const&>(self).core;
  static_cast<void>(flow.usable());
  check_callable(function);
  converted_options const options{with};
  used_data uses;
  auto held = std::make_unique<data_function>(self, function);
  add_uses(flow, given, uses, *held);
  std::span<detail::placed_data> const places = held->places();
  auto body = make(std::move(held));
  ticket made;
  flow.without_gil([&](flotilla::flow& to) {
    detail::submit_with_uses(to, uses.uses(), places, body, options.get(),
                             wanted == result::none ? nullptr : &made);
  });
  return ended(flow.owner(), std::move(made), nb::none(), wanted);
}

nb::object submit_any(nb::handle self, nb::handle what, nb::args const& arguments,
                      given_options const& options, result wanted) {
  if (py_shaped_kernel const* const kernel = found<py_shaped_kernel>(what)) {
    flow_core& flow = *nb::cast<py_flow const&>(self).core;
    static_cast<void>(flow.usable());
    return submit_launch(flow, *kernel, arguments, options, wanted);
  }
  return submit_function(
      self, what, arguments, options, wanted, [](std::unique_ptr<data_function> held) {
        return callable{[of = std::move(held)](task_context& task) { of->call(task); }};
      });
}

nb::object submit_on_host(nb::handle self, nb::handle function, nb::args const& uses,
                          given_options const& options, result wanted) {
  return submit_function(
      self, function, uses, options, wanted, [](std::unique_ptr<data_function> held) {
        return detail::host_access::function_of([of = std::move(held)] { of->call_on_host(); });
      });
}

nb::dict counters_of(py_flow const& self, unsigned device) {
  flow_counters const all = self.core->without_gil(
      [&](flotilla::flow& of) { return of.counters(device_ordinal{device}); });
  nb::dict made;
  made["bytes_from_host"] = all.bytes_from_host;
  made["bytes_from_devices"] = all.bytes_from_devices;
  made["bytes_to_host"] = all.bytes_to_host;
  made["hits"] = all.hits;
  made["misses"] = all.misses;
  made["evictions"] = all.evictions;
  made["write_backs"] = all.write_backs;
  made["allocated_bytes"] = all.allocated_bytes;
  return made;
}

/// @param runs_on  A runtime_core or a cluster_core.
template <class Place>
std::shared_ptr<flow_core> make_flow(std::shared_ptr<Place> const& runs_on,
                                     std::optional<std::int64_t> memory_limit, bool keeps_graph) {
  flow_options options;
  options.keeps_graph = keeps_graph;
  if (memory_limit) {
    if (*memory_limit <= 0) {
      throw invalid_argument("memory_limit must be a positive number of bytes, but is " +
                             std::to_string(*memory_limit));
    }
    options.memory_limit = static_cast<std::size_t>(*memory_limit);
  }
  return std::make_shared<flow_core>(runs_on, options);
}

// For type stubs. nanobind cannot know that a function returns a Ticket or None.
#define FLOTILLA_SUBMIT_SIGNATURE(name, result)                                               \
  "def " name                                                                                 \
  "(self, what: object, *arguments, after: object | None = None, after_end: object | None = " \
  "None, device: int | None = None, label: str | None = None, batch: bool = True, "           \
  "priority: int = 0, rank: int | None = None) -> " result
#define FLOTILLA_SUBMIT_HOST_SIGNATURE(name, result)                                     \
  "def " name                                                                            \
  "(self, function: collections.abc.Callable[..., object], *uses: Use, after: object | " \
  "None = None, after_end: object | None = None, label: str | None = None, "             \
  "rank: int | None = None) -> " result

/// Adds a function that submits a task on any place.
template <class Class>
void bind_submit(Class& to, char const* name, result wanted, char const* signature,
                 char const* text) {
  using namespace nb::literals;
  to.def(
      name,
      [wanted](nb::handle self, nb::handle what, nb::args const& arguments, nb::handle after,
               nb::handle after_end, nb::handle device, nb::handle label, bool batch, int priority,
               nb::handle rank) {
        given_options given{after, after_end, device, label, batch, priority};
        given.rank = rank;
        return submit_any(self, what, arguments, given, wanted);
      },
      "what"_a, "arguments"_a, "after"_a = nb::none(), "after_end"_a = nb::none(),
      "device"_a = nb::none(), "label"_a = nb::none(), "batch"_a = true, "priority"_a = 0,
      "rank"_a = nb::none(), nb::sig(signature), text);
}

/// Adds a function that submits a host task.
template <class Class>
void bind_submit_host(Class& to, char const* name, result wanted, char const* signature,
                      char const* text) {
  using namespace nb::literals;
  to.def(
      name,
      [wanted](nb::handle self, nb::handle function, nb::args const& uses, nb::handle after,
               nb::handle after_end, nb::handle label, nb::handle rank) {
        given_options given{after, after_end, nb::none(), label};
        given.rank = rank;
        return submit_on_host(self, function, uses, given, wanted);
      },
      "function"_a, "uses"_a, "after"_a = nb::none(), "after_end"_a = nb::none(),
      "label"_a = nb::none(), "rank"_a = nb::none(), nb::sig(signature), text);
}

}  // namespace

void bind_flows(nb::module_& to) {
  using namespace nb::literals;
  nb::class_<py_flow> made(to, "Flow",
                           "Orders tasks by the data that they use, and copies the data to where "
                           "the tasks run. As a context manager, it closes at the end of the "
                           "block.");
  made.def(
          "__init__",
          [](py_flow* self, py_runtime const& runtime, std::optional<std::int64_t> memory_limit,
             bool keeps_graph) {
            new (self) py_flow{make_flow(runtime.core, memory_limit, keeps_graph)};
          },
          "runtime"_a, nb::kw_only(), "memory_limit"_a = nb::none(), "keeps_graph"_a = false)
      .def(
          "__init__",
          [](py_flow* self, py_cluster const& cluster, std::optional<std::int64_t> memory_limit,
             bool keeps_graph) {
            new (self) py_flow{make_flow(cluster.core, memory_limit, keeps_graph)};
          },
          "cluster"_a, nb::kw_only(), "memory_limit"_a = nb::none(), "keeps_graph"_a = false,
          "A flow over all ranks of a cluster. All ranks submit the same tasks, in the same order.")
      .def(
          "data",
          [](py_flow const& self, nb::handle array, nb::handle label) {
            return make_data(self.core, array, label);
          },
          "array"_a, nb::kw_only(), "label"_a = nb::none(),
          "Makes data whose first copy is an array of the host or a Buffer. The data use this "
          "memory as their copy there, and keep it.")
      .def(
          "empty",
          [](py_flow const& self, nb::handle shape, nb::handle dtype, nb::handle label) {
            return make_empty(self.core, shape, dtype, label);
          },
          "shape"_a, "dtype"_a = "float32", nb::kw_only(), "label"_a = nb::none(),
          "Makes data without contents: a task must write them before a task reads them.")
      .def(
          "token",
          [](py_flow const& self, nb::handle label) { return make_token(self.core, label); },
          nb::kw_only(), "label"_a = nb::none(),
          "Makes a token, which orders the functions that use it, but has no memory.");
  bind_submit(made, "submit", result::ticket, FLOTILLA_SUBMIT_SIGNATURE("submit", "Ticket"),
              "submit(kernel.over(n), read(x), write(y), n) submits a launch, and "
              "submit(function, read(x), write(y)) a function(task, x, y) that gets a DataView of "
              "each. Returns the ticket.");
  bind_submit(
      made, "post", result::none, FLOTILLA_SUBMIT_SIGNATURE("post", "None"),
      "As submit, but without a ticket: the option on_error of the runtime gets the error.");
  bind_submit_host(made, "submit_host", result::ticket,
                   FLOTILLA_SUBMIT_HOST_SIGNATURE("submit_host", "Ticket"),
                   "Submits function(x, y), which runs on the host and gets a NumPy array of each "
                   "use. It may block. It must not keep the arrays. Returns the ticket.");
  bind_submit_host(made, "post_host", result::none,
                   FLOTILLA_SUBMIT_HOST_SIGNATURE("post_host", "None"),
                   "As submit_host, but without a ticket.");
  bind_loops(made);
  made.def("counters", counters_of, "device"_a,
           nb::sig("def counters(self, device: int) -> dict[str, int]"),
           "What the flow has done on a device.")
      .def(
          "dot",
          [](py_flow const& self) {
            return self.core->without_gil([](flotilla::flow& of) { return of.dot(); });
          },
          "The tasks so far in the language of Graphviz. The flow needs keeps_graph=True.")
      .def(
          "close", [](py_flow const& self) { self.core->close(); },
          "Refuses new tasks and data. Does not wait: submitted tasks still run, and the data of "
          "the flow can still be read.")
      .def_prop_ro("closed", [](py_flow const& self) { return self.core->is_closed(); })
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Flow"))
      .def(
          "__exit__", [](py_flow const& self, nb::args const&) { self.core->close(); }, "why"_a)
      .def("__repr__", [](py_flow const& self) {
        return self.core->is_closed() ? "<flotilla: closed flow>" : "<flotilla: flow>";
      });
  bind_data_views(to);
}

}  // namespace flotilla::python
