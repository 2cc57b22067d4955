// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What compilers print.

#include <cstddef>
#include <string>
#include <string_view>

#include <flotilla/error/compile_error.hpp>

namespace flotilla::compiler {

/// The first error in a log.
struct first_error {
  std::string file;
  std::size_t line = 0;  ///< 0: the log names no line
  std::string text;
};

/// Finds the first error in the log of g++, clang or NVRTC: `file:3:7: error: text`, or
/// `file(3): error: text`.
[[nodiscard]] first_error find_first_error(std::string_view log);

/// Returns the error for a source that does not compile.
/// @param source  compile_options::name
[[nodiscard]] compile_error source_does_not_compile(std::string const& source, std::string log);

}  // namespace flotilla::compiler
