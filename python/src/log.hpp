// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The log in Python.

#include <nanobind/nanobind.h>

#include <string>

namespace flotilla::python {

namespace nb = nanobind;

/// Adds an error to the log: to the target of log_to, or to stderr.
/// Threads: any, with or without the GIL. Never throws.
void write_error(std::string const& text) noexcept;

void bind_log(nb::module_& to);

}  // namespace flotilla::python
