// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The printf function of kernels.

#include <cstdarg>

#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

/// Formats like the host's printf and passes the text to `hooks.print`. Returns the value that
/// CUDA's printf returns: the number of arguments that the format requires, -1 if the format is
/// null, or -2 after an internal error.
int device_printf(grid_hooks const& hooks, char const* format, std::va_list arguments);

}  // namespace flotilla::cpu_driver
