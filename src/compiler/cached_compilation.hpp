// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles a source, or takes the result of an earlier compilation from the cache.

#include <string_view>

#include <flotilla/kernel/compile.hpp>

#include "compiler/compiled_code.hpp"
#include "compiler/gpu_compiler.hpp"

namespace flotilla::compiler {

/// @param options  They must have been checked (checked_options.hpp).
/// @throws compile_error, no_compiler, timed_out
[[nodiscard]] compiled_code compile_for_cpus(std::string_view source,
                                             compile_options const& options);
[[nodiscard]] compiled_code compile_for_gpus(std::string_view source,
                                             compile_options const& options, gpu_target target);

}  // namespace flotilla::compiler
