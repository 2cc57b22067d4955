// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The exceptions of compile (kernel/compile.hpp).

#include <cstddef>
#include <string>

#include <flotilla/detail/export.hpp>
#include <flotilla/error/error.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The source of a kernel does not compile (see compile in kernel/compile.hpp). The message names
/// the source, the line and the first error, and ends with the log of the compiler.
class FLOTILLA_EXPORT compile_error : public error {
 public:
  /// @param line  The line of the first error, from 1; 0 if the compiler names none.
  compile_error(std::string source, std::size_t line, std::string log, std::string const& what);
  ~compile_error() override;
  /// Returns the name of the file that the first error is in: the source, or a header.
  [[nodiscard]] std::string const& source() const noexcept { return source_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  /// Returns everything that the compiler printed.
  [[nodiscard]] std::string const& log() const noexcept { return log_; }

 private:
  std::string source_;
  std::size_t line_;
  std::string log_;
};

/// A kernel cannot be compiled at run time, because this machine has no compiler for it. The
/// message lists the places where flotilla has searched, and says what to install.
class FLOTILLA_EXPORT no_compiler : public error {
 public:
  using error::error;
  ~no_compiler() override;
};

}  // namespace v0_1
}  // namespace flotilla
