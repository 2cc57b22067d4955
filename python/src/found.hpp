// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the C++ object in a Python object.

#include <nanobind/nanobind.h>

namespace flotilla::python {

/// Returns the C++ object, or null if the Python object has another type, is None, or was never
/// constructed (`Buffer.__new__(Buffer)`).
template <class T>
[[nodiscard]] T* found(nanobind::handle object) noexcept {
  T* result = nullptr;
  return nanobind::try_cast(object, result, false) ? result : nullptr;
}

}  // namespace flotilla::python
