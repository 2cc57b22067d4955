#pragma once
// printf for kernels.

#include <cstdarg>

#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

/// Formats like the host's printf and passes the text to `hooks.print`. Returns the same as CUDA's
/// printf: the number of arguments of the format, -1 for a null format, -2 after an internal error.
int device_printf(grid_hooks const& hooks, char const* format, std::va_list arguments);

}  // namespace flotilla::cpu_driver
