#pragma once
// printf of kernels.

#include <cstdarg>

#include "cpu_driver/grid.hpp"

namespace flotilla::cpu_driver {

/// Formats as the host's printf does and hands the text to `hooks.print`. Returns what CUDA's
/// printf returns: the number of arguments that the format asks for, -1 for a null format, -2 for
/// an internal error.
int device_printf(grid_hooks const& hooks, char const* format, std::va_list arguments);

}  // namespace flotilla::cpu_driver
