// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the C++ compiler for CPU devices.

#include <string>

#include <flotilla/kernel/compile.hpp>

namespace flotilla::compiler {

struct host_compiler {
  std::string path;
  /// Changes if the file changes: the real path, the size and the time of the last change.
  std::string identity;
};

/// @throws no_compiler  There is none, or the one that the user names does not exist.
[[nodiscard]] host_compiler find_host_compiler(compile_options const& options);

/// Returns what tells a file from other versions of it. Empty if the file cannot be executed or
/// read, according to `mode` (X_OK or R_OK).
[[nodiscard]] std::string file_identity(std::string const& path, int mode);

}  // namespace flotilla::compiler
