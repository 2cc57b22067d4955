// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/device/driver_report.hpp>
#include <flotilla/interop.hpp>
#include <flotilla/task/event_fd.hpp>
#include <flotilla/task/host_task.hpp>

#include "cluster.hpp"
#include "compile.hpp"
#include "deferred.hpp"
#include "errors.hpp"
#include "foreign.hpp"
#include "function.hpp"
#include "kernel.hpp"
#include "memory.hpp"

namespace flotilla::python {

namespace {

/// For type stubs. `make_runtime` reads the options.
constexpr char runtime_signature[] =
    "def __init__(self, devices: str = '', *, workers: int | None = None, "
    "window: int | None = None, linger_us: int | None = None, "
    "settings: dict[str, object] | str | None = None, context: str | None = None, "
    "best_effort: bool | None = None, "
    "on_error: collections.abc.Callable[[BaseException], object] | None = None, "
    "checks: str | None = None, fuse_launches: bool | None = None, "
    "stuck_after: float | None = None, "
    "report_calls_longer_than_ms: int | None = None) -> None";

void bind_devices(nb::module_& to) {
  nb::class_<device>(to, "Device", "The properties of a device.")
      .def_prop_ro("ordinal", [](device const& d) { return d.ordinal.value; })
      .def_prop_ro(
          "kind", [](device const& d) { return d.kind == device_kind::gpu ? "gpu" : "cpu"; },
          "\"gpu\" or \"cpu\"")
      .def_ro("driver_ordinal", &device::driver_ordinal)
      .def_ro("name", &device::name)
      .def_ro("uuid", &device::uuid)
      .def_ro("pci_id", &device::pci_id)
      .def_ro("numa_node", &device::numa_node)
      .def_ro("multiprocessors", &device::multiprocessors)
      .def_ro("memory_bytes", &device::memory_bytes)
      .def("__index__", [](device const& d) { return d.ordinal.value; })
      .def("__repr__", [](device const& d) {
        return "<flotilla: device " + std::to_string(d.ordinal.value) + ", " + d.name + ">";
      });
  to.def(
      "devices",
      [] {
        nb::gil_scoped_release const released;
        return describe_drivers().devices;
      },
      "The devices that a runtime would have without a choice. Creates no context.");
}

std::vector<device> devices_of(py_runtime const& self) {
  auto const all = self.core->usable().devices();
  return {all.begin(), all.end()};
}

template <class F>
auto unlocked(py_runtime const& self, F const& function) {
  runtime& rt = self.core->usable();
  return self.core->without_gil([&] { return function(rt); });
}

}  // namespace

void bind_runtime(nb::module_& to) {
  using namespace nb::literals;
  bind_devices(to);
  nb::class_<py_runtime>(to, "Runtime", nb::is_weak_referenceable(),
                         "Runs tasks on its devices. Make one early, and keep it. As a context "
                         "manager, it closes at the end of the block.")
      .def(
          "__init__",
          [](py_runtime* self, std::string const& devices, nb::kwargs const& options) {
            new (self) py_runtime{make_runtime(devices, options)};
          },
          "devices"_a = "", "options"_a, nb::sig(runtime_signature))
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Runtime"))
      .def(
          "__exit__",
          [](py_runtime& self, nb::args const& why) {
            if (why.size() > 1 && !why[1].is_none()) {
              fail_clusters(self.core.get(), text_of_exception(why[1]));
            }
            self.core->close();
          },
          "why"_a)
      .def(
          "close", [](py_runtime& self) { self.core->close(); },
          "Refuses new tasks, waits for all tasks, and frees the memory of the runtime. Memory "
          "that "
          "arrays view is freed after the last of them. A second call does nothing.")
      .def_prop_ro("closed", [](py_runtime const& self) { return self.core->is_closed(); })
      .def_prop_ro("devices", devices_of)
      .def_prop_ro("driver_text",
                   [](py_runtime const& self) { return self.core->usable().driver_text(); })
      .def(
          "load", load, "gpu"_a = nb::none(), "cpu"_a = nb::none(), "name"_a = "image",
          "Loads kernels: `gpu` is a cubin, a fatbin or PTX, `cpu` a CPU image as "
          "flotilla_add_kernels or flotilla.compile_cpu makes it. One of them suffices if it suits "
          "the devices.")
      .def("load_file", load_file, "file"_a,
           "Loads a file: a cubin, fatbin or PTX file for GPUs, or a CPU image.")
      .def("compile", compile, "source"_a, "options"_a, nb::sig(compile_signature),
           "Compiles a source and loads it: with NVRTC for GPUs, with a C++ compiler of this "
           "machine "
           "for CPU devices. docs/compile.md describes the options; `timeout` is in seconds.")
      .def(
          "empty",
          [](py_runtime const& self, nb::handle shape, nb::handle dtype, unsigned device) {
            return make_buffer(self.core, shape, dtype, device, false);
          },
          "shape"_a, "dtype"_a = "float32", "device"_a = 0,
          "Allocates a buffer in the memory of a device, without initialising it.")
      .def(
          "pinned",
          [](py_runtime const& self, nb::handle shape, nb::handle dtype) {
            return make_buffer(self.core, shape, dtype, 0, true);
          },
          "shape"_a, "dtype"_a = "float32", "Allocates a buffer of pinned memory of the host.")
      .def(
          "view",
          [](py_runtime const& self, nb::handle array, unsigned device) {
            return view_foreign(self.core, array, device);
          },
          "array"_a, "device"_a = 0,
          "Returns a buffer that views memory of a device, or pinned memory, of another package: "
          "an "
          "object with __cuda_array_interface__ or __dlpack__. The buffer keeps the object.")
      .def(
          "submit",
          [](nb::handle self, nb::handle what, nb::handle after, nb::handle after_end,
             nb::handle device, nb::handle label, bool batch, int priority, nb::handle timeout) {
            return submit(self, what, {after, after_end, device, label, batch, priority, timeout});
          },
          "what"_a, nb::kw_only(), "after"_a = nb::none(), "after_end"_a = nb::none(),
          "device"_a = nb::none(), "label"_a = nb::none(), "batch"_a = true, "priority"_a = 0,
          "timeout"_a = nb::none(),
          "Submits a launch, a copy, a fill, or a function that gets a TaskContext. Returns its "
          "ticket. Tasks have no order except by `after` and `after_end`. If the task does not "
          "begin "
          "within `timeout` seconds, it ends with TimedOut and never runs.")
      .def(
          "post",
          [](nb::handle self, nb::handle what, nb::handle after, nb::handle after_end,
             nb::handle device, nb::handle label, bool batch, int priority, nb::handle timeout) {
            post(self, what, {after, after_end, device, label, batch, priority, timeout});
          },
          "what"_a, nb::kw_only(), "after"_a = nb::none(), "after_end"_a = nb::none(),
          "device"_a = nb::none(), "label"_a = nb::none(), "batch"_a = true, "priority"_a = 0,
          "timeout"_a = nb::none(),
          "As submit, but without a ticket. If the task fails, the option on_error of the runtime "
          "gets the error.")
      .def(
          "submit_bulk",
          [](nb::handle self, nb::handle what, nb::handle arguments, nb::handle count,
             nb::handle after, nb::handle after_end, nb::handle device, nb::handle label,
             bool batch, int priority, nb::handle timeout) {
            return submit_bulk(self, what, arguments, count,
                               {after, after_end, device, label, batch, priority, timeout});
          },
          "what"_a, "arguments"_a = nb::make_tuple(), "count"_a = nb::none(), nb::kw_only(),
          "after"_a = nb::none(), "after_end"_a = nb::none(), "device"_a = nb::none(),
          "label"_a = nb::none(), "batch"_a = true, "priority"_a = 0, "timeout"_a = nb::none(),
          "Submits many launches of a kernel with one ticket. An argument Each(values) has one "
          "value "
          "for each item; the others are the same for all. Or submits a list of launches, copies "
          "and fills.")
      .def(
          "submit_host",
          [](nb::handle self, nb::callable function, nb::handle after, nb::handle after_end,
             nb::handle label, nb::handle timeout) {
            core_ptr const& core = nb::cast<py_runtime const&>(self).core;
            runtime& rt = core->usable();
            converted_options const options{
                {after, after_end, nb::none(), label, true, 0, timeout}};
            auto call = host_function(self, function);
            return py_ticket{core, core->without_gil([&] {
                               task_options const& how = options.get();
                               return rt.submit(host_task(std::move(call)),
                                                {.label = how.label,
                                                 .after = how.after,
                                                 .after_end = how.after_end,
                                                 .deadline = how.deadline});
                             }),
                             nb::none()};
          },
          "function"_a, nb::kw_only(), "after"_a = nb::none(), "after_end"_a = nb::none(),
          "label"_a = nb::none(), "timeout"_a = nb::none(),
          "Submits a function that runs on the host, without a context. It may block.")
      .def(
          "submit_event",
          [](py_runtime const& self, std::uintptr_t event, nb::handle after, nb::handle device) {
            converted_options const options{{after, nb::none(), device, nb::none(), true, 0}};
            return py_ticket{self.core,
                             unlocked(self,
                                      [&](runtime& rt) {
                                        return rt.submit(reinterpret_cast<CUevent_st*>(event),
                                                         options.get());
                                      }),
                             nb::none()};
          },
          "event"_a, nb::kw_only(), "after"_a = nb::none(), "device"_a = nb::none(),
          "Submits a task that ends when a CUDA event of another package has completed. `event` is "
          "the number of its handle.")
      .def("trace", begin_trace, "file"_a, nb::kw_only(), "every"_a = 1, "memory"_a = nb::none(),
           nb::sig("def trace(self, file: str | os.PathLike, *, every: int = 1, "
                   "memory: int | None = None) -> Trace"),
           "Begins a trace of the tasks, devices and threads of the runtime: with "
           "rt.trace(\"step.pftrace\"): … One task of `every` is in it. `memory` limits the "
           "buffers in bytes.")
      .def(
          "pump",
          [](py_runtime const& self) {
            return unlocked(self, [](runtime& rt) { return rt.pump(); });
          },
          "Makes one pass over the devices. Returns whether there is unfinished work.")
      .def(
          "wait_idle",
          [](py_runtime const& self) {
            unlocked(self, [](runtime& rt) { rt.wait_idle(); });
            self.core->note_wait();
          },
          "Waits until no task and no continuation is open.")
      .def(
          "flush_printf",
          [](py_runtime const& self) { unlocked(self, [](runtime& rt) { rt.flush_printf(); }); },
          "Writes the output of printf in kernels to the standard output.")
      .def_prop_ro(
          "event_fd", [](py_runtime const& self) { return event_fd(self.core->usable()); },
          "A descriptor that is readable when an event loop should call pump().")
      .def(
          "memory",
          [](py_runtime const& self, unsigned device) {
            memory_info const found =
                unlocked(self, [&](runtime& rt) { return rt.memory(device_ordinal{device}); });
            return nb::make_tuple(found.free_bytes, found.total_bytes);
          },
          "device"_a, nb::sig("def memory(self, device: int) -> tuple[int, int]"),
          "The free and total memory of a device in bytes.")
      .def(
          "counters",
          [](py_runtime const& self, unsigned device) {
            device_counters const all = self.core->usable().counters(device_ordinal{device});
            nb::dict made;
            made["tasks"] = all.tasks;
            made["failed"] = all.failed;
            made["batches"] = all.batches;
            made["pushes"] = all.pushes;
            made["migrations"] = all.migrations;
            made["callables"] = all.callables;
            made["pulled"] = all.pulled;
            return made;
          },
          "device"_a, nb::sig("def counters(self, device: int) -> dict[str, int]"),
          "The counters of a device.")
      .def(
          "settings",
          [](py_runtime const& self, unsigned device) {
            device_settings const found =
                self.core->usable().effective_settings(device_ordinal{device});
            nb::dict made;
            for (std::string_view const name : device_settings::names()) {
              std::string const text = found.text(name);
              if (!text.empty()) { made[nb::str(name.data(), name.size())] = text; }
            }
            return made;
          },
          "device"_a, nb::sig("def settings(self, device: int) -> dict[str, str]"),
          "The settings of a device, as read back from the driver.")
      .def("__repr__", [](py_runtime const& self) -> std::string {
        if (self.core->is_closed()) { return "<flotilla: closed runtime>"; }
        return "<flotilla: runtime with " + std::to_string(self.core->usable().devices().size()) +
               " devices>";
      });
}

}  // namespace flotilla::python
