// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exceptions of flotilla in Python, and exceptions of Python in tasks.

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <optional>
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
///
/// The library keeps this object, and Python's garbage collector does not see what it keeps. When
/// Python raises an exception, the exception gets references to frames, and so to the variables of
/// the code that waits for the task, such as its ticket. So this object keeps an exception only
/// until it has given it to Python. Later it gives copies (flotilla/_failures.py).
class python_failure : public std::exception {
 public:
  /// The caller must hold the GIL.
  explicit python_failure(nb::python_error const& raised);
  [[nodiscard]] char const* what() const noexcept override { return text_.c_str(); }
  /// Returns the exception, or a copy if it was returned before. The caller must hold the GIL.
  [[nodiscard]] nb::object take() const;

 private:
  struct kept_exception {
    std::optional<shared_object> original;  // empty after it was taken
    shared_object copy;
  };
  std::shared_ptr<kept_exception> kept_;  // the GIL guards it
  std::string text_;
};

/// Returns the class and the message of a Python exception, such as "ValueError: it is negative".
[[nodiscard]] std::string text_of_exception(nb::handle raised);

/// Makes the exception classes of the module, and translates C++ exceptions to them.
void bind_errors(nb::module_& to);

/// Returns the Python exception for a C++ exception. The caller must hold the GIL.
[[nodiscard]] nb::object exception_of(std::exception_ptr const& why);

}  // namespace flotilla::python
