// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The operations of reductions, for each type of elements.
#include <complex>
#include <cstdint>
#include <functional>
#include <string>

#include <flotilla/data/reduction.hpp>
#include <flotilla/error/error.hpp>

#include "data.hpp"

namespace flotilla::python {

namespace {

/// Returns the table of an operation, or null if it does not exist for the type.
template <class Op, class T>
detail::reduction const* table() {
  if constexpr (reduction_of<Op, T>) {
    return &detail::reduction_table<Op, T>::how;
  } else {
    return nullptr;
  }
}

template <class T>
detail::reduction const* find(std::string const& name) {
  // A sum of truth values would overflow at once.
  if constexpr (!std::is_same_v<T, bool>) {
    if (name == "sum") { return table<std::plus<>, T>(); }
    if (name == "product") { return table<std::multiplies<>, T>(); }
  }
  if (name == "min") { return table<minimum, T>(); }
  if (name == "max") { return table<maximum, T>(); }
  if (name == "and") { return table<std::bit_and<>, T>(); }
  if (name == "or") { return table<std::bit_or<>, T>(); }
  if (name == "xor") { return table<std::bit_xor<>, T>(); }
  return nullptr;
}

/// Calls `find` with the type of the elements.
detail::reduction const* find_for(element_type const& of, std::string const& name) {
  using enum element_kind;
  if (of == element_type{boolean, 1}) { return find<bool>(name); }
  if (of == element_type{integer, 1}) { return find<std::int8_t>(name); }
  if (of == element_type{integer, 2}) { return find<std::int16_t>(name); }
  if (of == element_type{integer, 4}) { return find<std::int32_t>(name); }
  if (of == element_type{integer, 8}) { return find<std::int64_t>(name); }
  if (of == element_type{natural, 1}) { return find<std::uint8_t>(name); }
  if (of == element_type{natural, 2}) { return find<std::uint16_t>(name); }
  if (of == element_type{natural, 4}) { return find<std::uint32_t>(name); }
  if (of == element_type{natural, 8}) { return find<std::uint64_t>(name); }
  if (of == element_type{real, 4}) { return find<float>(name); }
  if (of == element_type{real, 8}) { return find<double>(name); }
  if (of == element_type{complex_number, 8}) { return find<std::complex<float>>(name); }
  if (of == element_type{complex_number, 16}) { return find<std::complex<double>>(name); }
  return nullptr;
}

}  // namespace

detail::reduction const* find_reduction(std::string const& name, element_type const& element) {
  if (detail::reduction const* const found = find_for(element, name)) { return found; }
  throw invalid_argument("there is no reduction '" + name + "' of " + element.name() +
                         "; the operations are sum, product, min, max, and, or, xor, as far as "
                         "the type has them");
}

}  // namespace flotilla::python
