// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Releases Python objects from threads that do not hold the GIL.

#include <Python.h>

#include <memory>

namespace flotilla::python {

/// Releases a reference later, in a Python thread. A thread of the runtime must not wait for the
/// GIL only to release a reference: the thread that holds the GIL may be waiting for it, and the
/// interpreter may have ended.
/// Threads: any, with or without the GIL. Cost: a lock. Never throws.
void release_later(PyObject* object) noexcept;

/// Releases what `release_later` has collected. The caller must hold the GIL.
void release_collected() noexcept;

/// From now on, `release_later` releases nothing, because the interpreter ends.
void stop_releasing() noexcept;
/// Whether `stop_releasing` was called. Then a thread of the runtime must not take the GIL.
[[nodiscard]] bool has_stopped_releasing() noexcept;

/// A reference to a Python object that C++ code without the GIL may copy and destroy.
class shared_object {
 public:
  /// Takes a new reference. The caller must hold the GIL.
  explicit shared_object(PyObject* object) {
    Py_INCREF(object);
    held_.reset(object, release_later);  // releases the object if it throws
  }
  /// The object. The caller must hold the GIL to use it.
  [[nodiscard]] PyObject* get() const noexcept { return held_.get(); }

 private:
  std::shared_ptr<PyObject> held_;
};

}  // namespace flotilla::python
