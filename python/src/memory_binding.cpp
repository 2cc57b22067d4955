// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The Python classes Buffer and MemoryOp.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <utility>

#include "memory.hpp"

namespace flotilla::python {

nb::dlpack::dtype dlpack_type(element_type const& of) {
  using code = nb::dlpack::dtype_code;
  constexpr code codes[] = {code::Bool, code::Int, code::UInt, code::Float, code::Complex};
  nb::dlpack::dtype made{};
  made.code = static_cast<std::uint8_t>(codes[static_cast<unsigned>(of.kind)]);
  made.bits = static_cast<std::uint8_t>(of.bytes * 8);
  made.lanes = 1;
  return made;
}

namespace {

/// What an array outside knows about a buffer that it views.
struct export_layout {
  std::shared_ptr<storage> memory;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;

  explicit export_layout(py_buffer const& of) : memory{of.memory} {
    auto next = static_cast<Py_ssize_t>(of.element.bytes);
    strides.resize(of.shape.size());
    for (std::size_t i = of.shape.size(); i-- > 0;) {
      strides[i] = next;
      next *= static_cast<Py_ssize_t>(of.shape[i]);
    }
    shape.assign(of.shape.begin(), of.shape.end());
    memory->begin_export();
  }
  export_layout(export_layout const&) = delete;
  export_layout& operator=(export_layout const&) = delete;
  ~export_layout() { memory->end_export(); }
};

/// An empty buffer has no memory, but other packages want an address that is not null.
void* address_or_any(py_buffer const& of) {
  static std::byte any[16];
  std::uintptr_t const address = of.address();
  return address == 0 ? any : reinterpret_cast<void*>(address);
}

constexpr char const* isolated_memory =
    "the buffer is in the memory of an isolated device, which no other code of this process can "
    "use; copy it with Runtime.submit(buffer.copy_to(array))";

[[noreturn]] void refuse_host_access(py_buffer const& of) {
  throw nb::buffer_error(of.memory->is_isolated()
                             ? isolated_memory
                             : "the buffer is in the memory of a GPU, which the host cannot read; "
                               "copy it with Runtime.submit(buffer.copy_to(array))");
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    py_buffer const& of = nb::cast<py_buffer const&>(nb::handle{self});
    if (!of.memory->is_on_host()) { refuse_host_access(of); }
    view->buf = address_or_any(of);
    auto layout = std::make_unique<export_layout>(of);
    view->len = static_cast<Py_ssize_t>(of.bytes());
    view->itemsize = of.element.bytes;
    view->readonly = 0;
    view->ndim = static_cast<int>(of.shape.size());
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(of.element.format()) : nullptr;
    view->shape = (flags & PyBUF_ND) != 0 ? layout->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = layout.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  } catch (nb::cast_error const&) {
    PyErr_SetString(PyExc_BufferError, "the buffer was never constructed");
    return -1;
  } catch (std::exception const& e) {
    PyErr_SetString(PyExc_BufferError, e.what());
    return -1;
  }
}

void release_buffer(PyObject* /*self*/, Py_buffer* view) {
  delete static_cast<export_layout*>(view->internal);
}

PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

/// The kind of a device in DLPack, and its number.
std::pair<int, int> dlpack_device(py_buffer const& of) {
  if (of.memory->is_on_host()) { return {nb::device::cpu::value, 0}; }
  if (of.memory->is_isolated()) { throw nb::buffer_error(isolated_memory); }
  auto const device = of.on_device().device().value;
  return {nb::device::cuda::value, of.owner().usable().devices()[device].driver_ordinal};
}

nb::object to_dlpack(py_buffer const& of, nb::kwargs const& options) {
  auto layout = std::make_unique<export_layout>(of);
  auto const [kind, number] = dlpack_device(of);
  std::vector<std::int64_t> strides;  // in elements
  for (Py_ssize_t const each : layout->strides) { strides.push_back(each / of.element.bytes); }
  nb::capsule const owner(layout.release(),
                          [](void* all) noexcept { delete static_cast<export_layout*>(all); });
  nb::ndarray<nb::array_api> const array(address_or_any(of), of.shape.size(), of.shape.data(),
                                         owner, strides.data(), dlpack_type(of.element), kind,
                                         number);
  return nb::cast(array).attr("__dlpack__")(**options);
}

nb::tuple tuple_of(std::vector<std::size_t> const& sizes) {
  nb::list made;
  for (std::size_t const each : sizes) { made.append(each); }
  return nb::tuple(made);
}

nb::dict cuda_interface(py_buffer const& of) {
  if (of.memory->is_on_host()) {
    throw nb::attribute_error(
        "the buffer is not in the memory of a GPU, so it has no __cuda_array_interface__");
  }
  if (of.memory->is_isolated()) { throw nb::attribute_error(isolated_memory); }
  nb::dict made;
  std::string const type =
      "<" + std::string{of.element.letter()} + std::to_string(of.element.bytes);
  made["shape"] = tuple_of(of.shape);
  made["typestr"] = of.element.bytes == 1 ? "|" + type.substr(1) : type;
  made["data"] = nb::make_tuple(of.address(), false);
  made["strides"] = nb::none();
  // The program orders its own work and the tasks, so the consumer need not wait for a stream.
  made["stream"] = nb::none();
  made["version"] = 3;
  return made;
}

/// The items [begin, end) of the first dimension, or one item, which loses this dimension.
py_buffer part_of(py_buffer const& of, nb::handle which) {
  if (of.shape.empty()) { throw nb::index_error("the buffer has no dimensions"); }
  auto const size = static_cast<Py_ssize_t>(of.shape[0]);
  py_buffer made = of;
  std::size_t const each = size == 0 ? 0 : of.bytes() / of.shape[0];
  if (nb::isinstance<nb::slice>(which)) {
    Py_ssize_t begin = 0;
    Py_ssize_t end = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(which.ptr(), &begin, &end, &step) != 0) { nb::raise_python_error(); }
    if (step != 1) {
      throw nb::index_error("a part of a buffer must be contiguous, so the step must be 1");
    }
    made.shape[0] = static_cast<std::size_t>(PySlice_AdjustIndices(size, &begin, &end, step));
    made.offset += static_cast<std::size_t>(begin) * each;
    return made;
  }
  if (PyIndex_Check(which.ptr()) == 0) {
    throw nb::type_error("a buffer is indexed with a whole number or a slice");
  }
  Py_ssize_t index = PyNumber_AsSsize_t(which.ptr(), PyExc_IndexError);
  if (index == -1 && PyErr_Occurred() != nullptr) { nb::raise_python_error(); }
  if (index < 0) { index += size; }
  if (index < 0 || index >= size) { throw nb::index_error("the index is not inside the buffer"); }
  made.shape.erase(made.shape.begin());
  made.offset += static_cast<std::size_t>(index) * each;
  return made;
}

/// NumPy calls this function if it cannot use the buffer protocol. Otherwise it would make an array
/// of Python objects.
nb::object to_array(nb::handle self, nb::args const& /*arguments*/, nb::kwargs const& options) {
  py_buffer const& of = nb::cast<py_buffer const&>(self);
  static_cast<void>(of.owner().usable());
  if (!of.memory->is_on_host()) { refuse_host_access(of); }
  nb::object const view = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!view.is_valid()) { nb::raise_python_error(); }
  return nb::module_::import_("numpy").attr("asarray")(view, **options);
}

nb::object to_numpy(nb::handle self) {
  py_buffer const& of = nb::cast<py_buffer const&>(self);
  if (!of.memory->is_on_host()) { refuse_host_access(of); }
  return nb::module_::import_("numpy").attr("asarray")(self);
}

std::string text_of(py_buffer const& of) {
  std::string const where = of.owner().is_closed() ? " of a closed runtime"
                            : of.is_pinned()
                                ? ""
                                : " on device " + std::to_string(of.on_device().device().value);
  return "<flotilla: " + of.text() + where + ">";
}

}  // namespace

void bind_memory(nb::module_& to) {
  nb::class_<py_memory_op>(
      to, "MemoryOp",
      "A copy or fill as data. Runtime.submit submits it as a task, any number "
      "of times.")
      .def_prop_ro("size_bytes", [](py_memory_op const& op) { return op.what.size_bytes(); });
  nb::class_<py_buffer>(to, "Buffer", nb::type_slots(buffer_slots),
                        "An array in the memory of a device, or in pinned memory of the host. Its "
                        "memory is freed after the last buffer and array that views it is gone, "
                        "and after the tasks that use it have ended.")
      .def_prop_ro(
          "shape", [](py_buffer const& b) { return tuple_of(b.shape); },
          nb::for_getter(nb::sig("def shape(self, /) -> tuple[int, ...]")))
      .def_prop_ro(
          "dtype", [](py_buffer const& b) { return b.element.name(); },
          "The name of the type of the elements, such as \"float32\".")
      .def_prop_ro("size", &py_buffer::size, "The number of elements.")
      .def_prop_ro("nbytes", &py_buffer::bytes)
      .def_prop_ro("address", &py_buffer::address, "The address of the first element.")
      .def_prop_ro("is_pinned", &py_buffer::is_pinned)
      .def_prop_ro(
          "device",
          [](py_buffer const& b) -> std::optional<unsigned> {
            if (b.is_pinned()) { return std::nullopt; }
            return b.on_device().device().value;
          },
          "The ordinal of the device, or None if the buffer is pinned memory.")
      .def("__len__",
           [](py_buffer const& b) {
             if (b.shape.empty()) { throw nb::type_error("the buffer has no dimensions"); }
             return b.shape[0];
           })
      .def("__getitem__", part_of, nb::arg("which"),
           "A buffer that views a part of the memory: an item or a slice of the first dimension.")
      .def("__repr__", text_of)
      .def("copy_from", copy_from, nb::arg("source"),
           "Describes a copy to this buffer from a buffer or from an array of the host.")
      .def("copy_to", copy_to, nb::arg("destination"),
           "Describes a copy of this buffer to a buffer or to an array of the host.")
      .def("fill", fill, nb::arg("value"), "Describes a fill that sets each element to the value.")
      .def("numpy", to_numpy, nb::sig("def numpy(self) -> numpy.typing.NDArray[typing.Any]"),
           "Returns a NumPy array that views the memory. Pinned memory and the memory of CPU "
           "devices only. It does not wait for tasks.")
      .def("__array__", to_array, nb::arg("arguments"), nb::arg("options"),
           nb::sig("def __array__(self, *arguments: object, **options: object) -> "
                   "numpy.typing.NDArray[typing.Any]"))
      .def("__dlpack__", to_dlpack, nb::arg("options"))
      .def("__dlpack_device__",
           [](py_buffer const& b) {
             auto const [kind, number] = dlpack_device(b);
             return nb::make_tuple(kind, number);
           })
      .def_prop_ro("__cuda_array_interface__", cuda_interface);
}

}  // namespace flotilla::python
