// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the kernels and variables of a source for CPU devices.

#include <span>
#include <string>
#include <vector>

#include "compiler/cpu_tokens.hpp"

namespace flotilla::compiler {

struct cpu_kernel {
  std::string name;
  std::string qualified;      ///< with its namespaces: "::mine::step"
  std::string launch_bounds;  ///< the arguments of __launch_bounds__; empty if there are none
  bool is_extern_c = false;
  bool is_template = false;
  bool is_in_unnamed_namespace = false;
  cpu_token where;
};

/// A variable that a program can find by name.
struct cpu_variable {
  std::string name;
  std::string qualified;
};

struct cpu_symbols {
  std::vector<cpu_kernel> kernels;
  std::vector<cpu_variable> variables;
  std::vector<cpu_kernel> without_twin;  ///< the names of FLOTILLA_NO_TWIN, and where they are
};

/// Finds kernels (functions with __global__ and a body) and variables with __device__ or
/// __constant__, at file level and in namespaces. The compiler later deduces their types. This is
/// what cmake/kernels/scan_kernels.cmake finds for images that a build makes.
[[nodiscard]] cpu_symbols find_cpu_symbols(std::span<cpu_token const> tokens);

}  // namespace flotilla::compiler
