// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles kernels for CPU devices.

#include <string_view>

#include <flotilla/kernel/compile.hpp>

#include "compiler/compiled_code.hpp"
#include "compiler/digest.hpp"
#include "compiler/host_compiler.hpp"

namespace flotilla::compiler {

/// Compiles with a C++ compiler of the host, which makes a shared library. The library has what
/// flotilla_add_kernels() puts into CPU images (cmake/flotilla_add_kernels.cmake).
class cpu_compiler {
 public:
  /// @throws no_compiler
  explicit cpu_compiler(compile_options const& options);

  /// Adds what the result depends on, except the source and its headers.
  void add_to(key_text& key) const;
  /// @throws compile_error, no_compiler, timed_out
  [[nodiscard]] compiled_code compile(std::string_view source) const;

 private:
  compile_options const& options_;
  host_compiler const host_;
};

}  // namespace flotilla::compiler
