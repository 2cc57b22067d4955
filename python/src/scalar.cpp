// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "scalar.hpp"

#include <nanobind/stl/string.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <flotilla/error/error.hpp>

#include "foreign.hpp"

namespace flotilla::python {

namespace {

template <class T>
void put(scalar_value& to, T const& value) noexcept {
  std::memcpy(to.bytes, &value, sizeof value);
}

[[noreturn]] void refuse_range(nb::handle number, element_type const& type,
                               std::string const& what) {
  PyErr_Clear();
  throw invalid_argument(what + " is " + nb::cast<std::string>(nb::str(number)) + ", which no " +
                         type.name() + " can hold");
}

void write_integer(nb::handle number, element_type const& type, scalar_value& to,
                   std::string const& what) {
  nb::object const index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) { nb::raise_python_error(); }
  if (type.kind == element_kind::natural) {
    unsigned long long const value = PyLong_AsUnsignedLongLong(index.ptr());
    bool const has_failed = value == ~0ULL && PyErr_Occurred() != nullptr;
    if (has_failed || (type.bytes < 8 && value >> (8 * type.bytes) != 0)) {
      refuse_range(number, type, what);
    }
    put(to, value);  // the first bytes of a little-endian number
    return;
  }
  int overflow = 0;
  long long const value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  long long const limit = type.bytes < 8 ? 1LL << (8 * type.bytes - 1) : 0;
  if (overflow != 0 || (limit != 0 && (value < -limit || value >= limit))) {
    refuse_range(number, type, what);
  }
  put(to, value);
}

bool write_real(nb::handle number, element_type const& type, scalar_value& to,
                std::string const& what) {
  double const value = PyFloat_AsDouble(number.ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) { refuse_range(number, type, what); }
    PyErr_Clear();
    return false;
  }
  if (type.bytes == 8) {
    put(to, value);
  } else if (type.bytes == 4) {
    bool const is_too_large = std::abs(value) > std::numeric_limits<float>::max();
    if (is_too_large && !std::isinf(value)) { refuse_range(number, type, what); }
    put(to, static_cast<float>(value));
  } else {
    return false;  // a float16 is passed as a scalar of NumPy
  }
  return true;
}

}  // namespace

bool write_number(nb::handle number, element_type const& type, scalar_value& to,
                  std::string const& what) {
  PyObject* const object = number.ptr();
  switch (type.kind) {
    case element_kind::integer:
    case element_kind::natural:
      if (PyFloat_Check(object) != 0) {
        throw invalid_argument(what + " is the float " + nb::cast<std::string>(nb::str(number)) +
                               ", but the type is " + type.name() + "; convert it with int()");
      }
      if (PyIndex_Check(object) == 0) { return false; }
      write_integer(number, type, to, what);
      return true;
    case element_kind::real:
      if (PyFloat_Check(object) == 0 && PyIndex_Check(object) == 0 &&
          !nb::hasattr(number, "__float__")) {
        return false;
      }
      if (PyObject_HasAttrString(object, "__len__") != 0) { return false; }  // an array
      return write_real(number, type, to, what);
    case element_kind::boolean:
      if (PyBool_Check(object) == 0) { return false; }
      put(to, object == Py_True);
      return true;
    case element_kind::complex_number: {
      if (PyComplex_Check(object) == 0 && PyFloat_Check(object) == 0 && PyLong_Check(object) == 0) {
        return false;
      }
      std::complex<double> const value{PyComplex_RealAsDouble(object),
                                       PyComplex_ImagAsDouble(object)};
      if (PyErr_Occurred() != nullptr) { nb::raise_python_error(); }
      if (type.bytes == 16) {
        put(to, value);
      } else {
        put(to, std::complex<float>{value});
      }
      return true;
    }
    case element_kind::opaque: return false;
  }
  return false;
}

std::vector<std::byte> scalar_bytes(nb::handle value, element_type const& type,
                                    std::string const& what) {
  scalar_value made;
  if (write_number(value, type, made, what)) { return {made.bytes, made.bytes + type.bytes}; }
  std::optional<scalar_view> const scalar = view_scalar(value);
  if (!scalar) {
    throw invalid_argument(what + " must be a " + type.name() + ", but is a " + type_of(value));
  }
  bool const is_same = scalar->element.kind == element_kind::opaque ||
                       type.kind == element_kind::opaque || scalar->element == type;
  if (!is_same || scalar->value.size() != type.bytes) {
    throw invalid_argument(what + " must be a " + type.name() + " of " +
                           std::to_string(type.bytes) + " bytes, but is a " + type_of(value) +
                           " of " + std::to_string(scalar->value.size()) + " bytes");
  }
  return scalar->value;
}

}  // namespace flotilla::python
