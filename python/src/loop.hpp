// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of a flow.

#include "flow.hpp"

namespace flotilla::python {

/// Adds `repeat` and `repeat_while`.
void bind_loops(nb::class_<py_flow>& to);

}  // namespace flotilla::python
