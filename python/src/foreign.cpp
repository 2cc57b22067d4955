// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "foreign.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <utility>

#include <flotilla/error/error.hpp>

#include "byte_order.hpp"

namespace flotilla::python {

namespace {

/// Computes what follows from the shape. `strides` are in bytes; if it is null, the array is
/// contiguous.
template <class Stride>
void set_layout(array_view& of, Stride const* strides, std::ptrdiff_t unit) {
  auto next = static_cast<std::ptrdiff_t>(of.element.bytes);
  std::ptrdiff_t contiguous_first = next;
  for (std::size_t i = of.shape.size(); i-- > 0;) {
    contiguous_first = next;
    if (strides != nullptr && of.shape[i] > 1 &&
        static_cast<std::ptrdiff_t>(strides[i]) * unit != next) {
      of.is_contiguous = false;
    }
    next *= static_cast<std::ptrdiff_t>(of.shape[i]);
  }
  of.bytes = static_cast<std::size_t>(next);
  of.first_stride = strides != nullptr && !of.shape.empty()
                        ? static_cast<std::ptrdiff_t>(strides[0]) * unit
                        : contiguous_first;
  if (of.bytes == 0) { of.is_contiguous = true; }
}

/// A view of the buffer protocol, which ends with the object.
class held_buffer_view {
 public:
  explicit held_buffer_view(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
      nb::raise_python_error();
    }
  }
  held_buffer_view(held_buffer_view const&) = delete;
  held_buffer_view& operator=(held_buffer_view const&) = delete;
  ~held_buffer_view() { PyBuffer_Release(&view_); }
  [[nodiscard]] Py_buffer const& get() const noexcept { return view_; }

 private:
  Py_buffer view_{};
};

[[noreturn]] void refuse_order(nb::handle object, std::string const& type) {
  nb::object const dtype = nb::getattr(object, "dtype", nb::none());
  throw invalid_argument("the " + type_of(object) + " has elements of the type '" +
                         (dtype.is_none() ? type : nb::cast<std::string>(nb::str(dtype))) +
                         "', whose byte order is not that of this machine; convert it, as in "
                         "array.astype(array.dtype.newbyteorder('='))");
}

void check_order(nb::handle object, Py_buffer const& view) {
  if (view.format != nullptr && has_foreign_order(view.format)) {
    refuse_order(object, view.format);
  }
}

/// Checks the member 'descr' of an array interface: a list of (name, type, …), where the type can
/// be such a list too.
void check_order_of_members(nb::handle object, nb::handle members) {
  if (!nb::isinstance<nb::list>(members)) { return; }
  for (nb::handle const each : nb::borrow<nb::list>(members)) {
    if (!nb::isinstance<nb::tuple>(each) || nb::len(each) < 2) { continue; }
    nb::object const type = each[1];
    if (!nb::isinstance<nb::str>(type)) {
      check_order_of_members(object, type);
    } else if (has_foreign_order_typestr(nb::cast<std::string>(type))) {
      refuse_order(object, nb::cast<std::string>(type));
    }
  }
}

array_view view_buffer(nb::handle object) {
  auto held = std::make_unique<held_buffer_view>(object);
  Py_buffer const& view = held->get();
  check_order(object, view);
  array_view made;
  made.data = view.buf;
  made.element = element_type_of(view.format, static_cast<std::size_t>(view.itemsize));
  for (int i = 0; i < view.ndim; ++i) {
    made.shape.push_back(static_cast<std::size_t>(view.shape[i]));
  }
  made.is_read_only = view.readonly != 0;
  set_layout(made, view.strides, 1);
  // While the view is held, objects such as a bytearray cannot move their memory.
  made.kept = nb::capsule(held.release(),
                          [](void* all) noexcept { delete static_cast<held_buffer_view*>(all); });
  return made;
}

array_view view_cuda_interface(nb::handle object, nb::dict const& all) {
  auto const member = [&](char const* name) {
    if (!all.contains(name)) {
      throw invalid_argument("the __cuda_array_interface__ of a " + type_of(object) + " has no '" +
                             name + "'");
    }
    return nb::object(all[name]);
  };
  array_view made;
  made.is_on_gpu = true;
  std::string const type = nb::cast<std::string>(member("typestr"));
  if (has_foreign_order_typestr(type)) { refuse_order(object, type); }
  if (all.contains("descr")) { check_order_of_members(object, nb::object(all["descr"])); }
  made.element = element_type_of_typestr(type);
  nb::tuple const data = nb::cast<nb::tuple>(member("data"));
  if (data.size() != 2) {
    throw invalid_argument("the 'data' of a __cuda_array_interface__ must have two members");
  }
  made.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
  made.is_read_only = nb::cast<bool>(data[1]);
  for (nb::handle const each : nb::cast<nb::tuple>(member("shape"))) {
    made.shape.push_back(nb::cast<std::size_t>(each));
  }
  std::vector<std::ptrdiff_t> strides;
  if (all.contains("strides") && !nb::object(all["strides"]).is_none()) {
    for (nb::handle const each : nb::cast<nb::tuple>(all["strides"])) {
      strides.push_back(nb::cast<std::ptrdiff_t>(each));
    }
    if (strides.size() != made.shape.size()) {
      throw invalid_argument("a __cuda_array_interface__ has " + std::to_string(made.shape.size()) +
                             " dimensions, but " + std::to_string(strides.size()) + " strides");
    }
  }
  set_layout(made, strides.empty() ? nullptr : strides.data(), 1);
  made.kept = nb::borrow(object);
  return made;
}

element_kind kind_of(nb::dlpack::dtype const& type) noexcept {
  using code = nb::dlpack::dtype_code;
  if (type.lanes != 1 || type.bits % 8 != 0) { return element_kind::opaque; }
  switch (static_cast<code>(type.code)) {
    case code::Int: return element_kind::integer;
    case code::UInt: return element_kind::natural;
    case code::Float: return element_kind::real;
    case code::Complex: return element_kind::complex_number;
    case code::Bool: return element_kind::boolean;
    default: return element_kind::opaque;
  }
}

std::optional<array_view> view_dlpack(nb::handle object) {
  using any_array = nb::ndarray<nb::ro>;
  any_array found;
  if (!nb::try_cast(object, found)) {
    PyErr_Clear();
    return std::nullopt;
  }
  auto held = std::make_unique<any_array>(std::move(found));
  array_view made;
  made.data = const_cast<void*>(static_cast<void const*>(held->data()));
  made.element = {kind_of(held->dtype()),
                  static_cast<std::uint32_t>(held->dtype().bits * held->dtype().lanes / 8)};
  for (std::size_t i = 0; i < held->ndim(); ++i) { made.shape.push_back(held->shape(i)); }
  int const device = held->device_type();
  made.is_on_gpu = device == nb::device::cuda::value || device == nb::device::cuda_managed::value;
  if (!made.is_on_gpu && device != nb::device::cpu::value &&
      device != nb::device::cuda_host::value) {
    throw invalid_argument("the memory of a " + type_of(object) +
                           " is on a device that is neither a CPU nor a CUDA device");
  }
  set_layout(made, held->stride_ptr(), made.element.bytes);
  made.kept =
      nb::capsule(held.release(), [](void* all) noexcept { delete static_cast<any_array*>(all); });
  return made;
}

}  // namespace

std::string type_of(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

std::optional<array_view> view_array(nb::handle object) {
  // First, because CuPy's arrays also have the buffer protocol, and refuse it.
  nb::object const interface = nb::getattr(object, "__cuda_array_interface__", nb::none());
  if (nb::isinstance<nb::dict>(interface)) {
    return view_cuda_interface(object, nb::cast<nb::dict>(interface));
  }
  if (PyObject_CheckBuffer(object.ptr()) != 0) { return view_buffer(object); }
  if (!nb::hasattr(object, "__dlpack__")) { return std::nullopt; }
  return view_dlpack(object);
}

std::optional<scalar_view> view_scalar(nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0 || nb::hasattr(object, "__cuda_array_interface__")) {
    return std::nullopt;
  }
  held_buffer_view const held{object};
  Py_buffer const& view = held.get();
  if (view.ndim != 0 && PyBytes_Check(object.ptr()) == 0) { return std::nullopt; }
  check_order(object, view);
  auto const* const first = static_cast<std::byte const*>(view.buf);
  element_type const type =
      view.ndim != 0 ? element_type{element_kind::opaque, static_cast<std::uint32_t>(view.len)}
                     : element_type_of(view.format, static_cast<std::size_t>(view.itemsize));
  return scalar_view{{first, first + view.len}, type};
}

}  // namespace flotilla::python
