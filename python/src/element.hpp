// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of elements and of kernel parameters.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla::python {

namespace nb = nanobind;

enum class element_kind : std::uint8_t { boolean, integer, natural, real, complex_number, opaque };

/// The type of an element of an array, or of a scalar.
struct element_type {
  element_kind kind = element_kind::opaque;
  std::uint32_t bytes = 0;  // 0: unknown
  bool operator==(element_type const&) const = default;

  /// The name in NumPy, such as "float32", or "void".
  [[nodiscard]] std::string name() const;
  /// The format of the buffer protocol, or null.
  [[nodiscard]] char const* format() const noexcept;
  /// The letter of the kind in the array interface, such as 'f'.
  [[nodiscard]] char letter() const noexcept;
};

/// Returns the type for a name, a NumPy dtype, or a Python or NumPy type.
/// @throws invalid_argument  It is no type of an element, or has another byte order.
[[nodiscard]] element_type element_type_of(nb::handle dtype);
/// Returns the type for a format of the buffer protocol. Other formats are opaque.
[[nodiscard]] element_type element_type_of(char const* format, std::size_t bytes) noexcept;
/// Returns the type for a type string of the array interface, such as "<f4".
[[nodiscard]] element_type element_type_of_typestr(std::string_view text);

/// A parameter of a kernel, as its source declares it.
struct parameter_type {
  element_type element;  // of a pointer: what it points to
  bool is_pointer = false;
  bool is_read_only = false;  // a pointer to const, or a view of const
  std::size_t view_rank = 0;  // of a flotilla::view; otherwise 0
  element_type viewed;        // of a flotilla::view: its objects
  std::string text;           // as the caller has written it

  /// Whether the host's memory of such elements may be the memory of the parameter.
  [[nodiscard]] bool points_to(element_type const& other) const noexcept {
    element_type const& mine = view_rank != 0 ? viewed : element;
    return mine.kind == element_kind::opaque || other.kind == element_kind::opaque || mine == other;
  }
};

/// Reads the parameter list of a kernel, such as "float, float const* x, int n".
/// @throws invalid_argument  A parameter is empty, or a type that Python cannot pass.
[[nodiscard]] std::vector<parameter_type> parse_parameters(std::string_view list);

}  // namespace flotilla::python
