// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of other packages: NumPy arrays, and everything with the buffer protocol, DLPack or the
// CUDA array interface.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "element.hpp"

namespace flotilla::python {

/// A view of the memory of an array. `kept` keeps the memory.
struct array_view {
  void* data = nullptr;
  element_type element;
  std::vector<std::size_t> shape;
  std::ptrdiff_t first_stride = 0;  // bytes from one item of the first dimension to the next
  std::size_t bytes = 0;            // of all elements together
  bool is_read_only = false;
  bool is_contiguous = true;  // in the order of C
  bool is_on_gpu = false;
  nb::object kept;
};

/// Returns a view of an array, or empty if the object is no array. The order of the protocols: the
/// CUDA array interface, the buffer protocol, DLPack.
/// @throws invalid_argument  The object breaks its protocol, or its numbers have another byte order
///                           than that of this machine.
/// @throws nb::python_error  The object refuses to give its memory.
[[nodiscard]] std::optional<array_view> view_array(nb::handle object);

/// A scalar of NumPy or ctypes, or bytes. It is valid as long as the object.
struct scalar_view {
  std::vector<std::byte> value;
  element_type element;
};

/// Returns the bytes of an object with the buffer protocol and without dimensions, or empty.
/// @throws invalid_argument  Its numbers have another byte order than that of this machine.
[[nodiscard]] std::optional<scalar_view> view_scalar(nb::handle object);

/// The name of the type of an object, for messages.
[[nodiscard]] std::string type_of(nb::handle object);

}  // namespace flotilla::python
