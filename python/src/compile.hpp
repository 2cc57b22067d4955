// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that are compiled at run time.

#include <nanobind/nanobind.h>

#include <string>

#include "runtime.hpp"

namespace flotilla::python {

/// For type stubs.
inline constexpr char compile_signature[] =
    "def compile(self, source: str, *, name: str = ..., "
    "defines: collections.abc.Sequence[str] = (), "
    "include_directories: collections.abc.Sequence[str | os.PathLike] = (), "
    "name_expressions: collections.abc.Sequence[str] = (), standard: int = 20, "
    "fast_math: bool = False, fused: bool = True, "
    "gpu_options: collections.abc.Sequence[str] = (), "
    "cpu_options: collections.abc.Sequence[str] = (), "
    "cpu_compiler: str | os.PathLike | None = None, nvrtc: str | os.PathLike | None = None, "
    "timeout: float = 120.0, cache: bool = True, "
    "cache_directory: str | os.PathLike | None = None, cache_bytes: int = 268435456) -> Program";

/// Compiles a source and loads it. The GIL is released meanwhile.
/// @throws invalid_argument, compile_error, no_compiler, timed_out
[[nodiscard]] py_program compile(py_runtime const& self, std::string const& source,
                                 nb::kwargs const& given);

}  // namespace flotilla::python
