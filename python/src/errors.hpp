// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exceptions of flotilla in Python, and exceptions of Python in tasks.

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include <flotilla/error/error.hpp>

#include "deferred.hpp"

namespace flotilla::python {

namespace nb = nanobind;

/// An object that the call uses does not exist any more.
class invalid_handle : public error {
 public:
  using error::error;
};

/// The exception of a Python function that ran as a task. It may be thrown any number of times.
class python_failure : public std::exception {
 public:
  /// Takes the exception that the current thread has raised. The caller must hold the GIL.
  [[nodiscard]] static python_failure take();
  [[nodiscard]] char const* what() const noexcept override { return text_.c_str(); }
  /// The exception. The caller must hold the GIL to use it.
  [[nodiscard]] PyObject* raised() const noexcept { return raised_.get(); }

 private:
  python_failure(shared_object raised, std::string text)
      : raised_{std::move(raised)}, text_{std::move(text)} {}
  shared_object raised_;
  std::string text_;
};

/// Makes the exception classes of the module, and translates C++ exceptions to them.
void bind_errors(nb::module_& to);

/// Returns the Python exception for a C++ exception. The caller must hold the GIL.
[[nodiscard]] nb::object exception_of(std::exception_ptr const& why);

}  // namespace flotilla::python
