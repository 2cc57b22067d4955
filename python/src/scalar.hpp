// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python numbers as bytes.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <vector>

#include "element.hpp"

namespace flotilla::python {

/// The bytes of a number. They need no memory of their own.
struct scalar_value {
  alignas(16) std::byte bytes[16];
};

/// Writes a Python number as a value of the type.
/// @return false  The object is no number, or the type is opaque.
/// @throws invalid_argument  The number does not fit into the type: a fraction for an integral
///                           type, or a number outside of its range. `what` names the value.
[[nodiscard]] bool write_number(nb::handle number, element_type const& type, scalar_value& to,
                                std::string const& what);

/// Returns the bytes of a number, of a scalar of NumPy or ctypes, or of bytes.
/// @throws invalid_argument  The object has another type or size.
[[nodiscard]] std::vector<std::byte> scalar_bytes(nb::handle value, element_type const& type,
                                                  std::string const& what);

}  // namespace flotilla::python
