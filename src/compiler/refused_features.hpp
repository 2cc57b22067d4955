// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Features of CUDA that CPU devices do not have.

#include <span>
#include <string>

#include "compiler/cpu_tokens.hpp"

namespace flotilla::compiler {

/// Returns a line for each use of a feature of CUDA that CPU devices do not have, in the form in
/// which compilers report errors. cmake/kernels/scan_kernels.cmake refuses the same.
[[nodiscard]] std::string find_refused_features(std::span<cpu_token const> tokens);

/// Returns an error as compilers print it.
[[nodiscard]] std::string error_line(cpu_token const& where, std::string const& text);

}  // namespace flotilla::compiler
