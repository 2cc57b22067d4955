// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The class Program.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "errors.hpp"
#include "foreign.hpp"
#include "kernel.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

std::optional<std::string> bytes_of(nb::handle given, char const* name) {
  if (given.is_none()) { return std::nullopt; }
  if (nb::isinstance<nb::str>(given)) { return nb::cast<std::string>(given); }  // PTX
  if (PyObject_CheckBuffer(given.ptr()) == 0) {
    throw invalid_argument(std::string{name} + " of an image must be bytes, but is a " +
                           type_of(given));
  }
  auto const bytes = nb::steal<nb::bytes>(PyBytes_FromObject(given.ptr()));
  if (!bytes.is_valid()) { nb::raise_python_error(); }
  return std::string{bytes.c_str(), bytes.size()};
}

template <class Transfer>
void transfer_global(py_program const& of, nb::handle memory, bool is_read, Transfer const& run) {
  static_cast<void>(of.owner->usable());
  std::optional<array_view> const array = view_array(memory);
  if (!array || array->is_on_gpu || !array->is_contiguous || (is_read && array->is_read_only)) {
    throw invalid_argument(
        "a variable is copied from or to a contiguous array of the host that can "
        "be written, but got a " +
        type_of(memory));
  }
  of.owner->without_gil([&] { run(static_cast<std::byte*>(array->data), array->bytes); });
}

}  // namespace

py_program load(py_runtime const& self, nb::handle gpu, nb::handle cpu, std::string name) {
  runtime& rt = self.core->usable();
  std::optional<std::string> for_gpus = bytes_of(gpu, "the argument 'gpu'");
  std::optional<std::string> for_cpus = bytes_of(cpu, "the argument 'cpu'");
  if (!for_gpus && !for_cpus) {
    throw invalid_argument("load needs code: bytes for GPUs (gpu), for CPU devices (cpu), or both");
  }
  image code{.name = self.core->keep(std::move(name)).c_str()};
  if (for_gpus) {
    std::string const& kept = self.core->keep(std::move(*for_gpus));
    code.gpu = kept.c_str();
    code.gpu_bytes = kept.size() + 1;  // with the zero byte with which PTX must end
  }
  if (for_cpus) {
    std::string const& kept = self.core->keep(std::move(*for_cpus));
    code.cpu = kept.data();
    code.cpu_bytes = kept.size();
  }
  return {self.core, self.core->without_gil([&] { return rt.load(code); })};
}

py_program load_file(py_runtime const& self, std::filesystem::path const& file) {
  runtime& rt = self.core->usable();
  return {self.core, self.core->without_gil([&] { return rt.load(file); })};
}

void bind_programs(nb::module_& to) {
  nb::class_<py_program>(to, "Program", "An image that is loaded on every device of a runtime.")
      .def(
          "kernel",
          [](py_program const& p, std::string const& name, nb::handle types) {
            return find_kernel(p.owner, p.loaded, name, types);
          },
          nb::arg("name"), nb::arg("types") = nb::none(),
          "Returns a kernel. `types` is the parameter list of its source, such as \"float, float "
          "const*, int\". With it, Python numbers are converted, and the types of arrays are "
          "checked.")
      .def_prop_ro("kernel_names",
                   [](py_program const& p) {
                     static_cast<void>(p.owner->usable());
                     return p.loaded.kernel_names();
                   })
      .def(
          "write_global",
          [](py_program const& p, unsigned device, std::string const& name, nb::handle from) {
            transfer_global(p, from, false, [&](std::byte const* data, std::size_t bytes) {
              p.loaded.write_global(device_ordinal{device}, name, {data, bytes});
            });
          },
          nb::arg("device"), nb::arg("name"), nb::arg("source"),
          "Copies an array to the start of a __device__ or __constant__ variable.")
      .def(
          "read_global",
          [](py_program const& p, unsigned device, std::string const& name, nb::handle into) {
            transfer_global(p, into, true, [&](std::byte* data, std::size_t bytes) {
              p.loaded.read_global(device_ordinal{device}, name, {data, bytes});
            });
          },
          nb::arg("device"), nb::arg("name"), nb::arg("destination"),
          "Copies from the start of a variable to an array.");
}

}  // namespace flotilla::python
