// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the options of a compilation.

#include <flotilla/kernel/compile.hpp>

namespace flotilla::compiler {

/// Returns the options with absolute include directories.
/// @throws invalid_argument  An option is wrong. The message begins with its name.
[[nodiscard]] compile_options checked_options(compile_options options);

}  // namespace flotilla::compiler
