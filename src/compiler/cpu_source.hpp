// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the source of a CPU image: the kernels, and a table of the kernels and variables.

#include <string>
#include <string_view>

#include <flotilla/kernel/compile.hpp>

namespace flotilla::compiler {

/// The file of the work folder that has the user's source.
inline constexpr std::string_view user_file = "kernels.cu";

/// Returns the source whose preprocessed text write_cpu_source reads. The preprocessor must define
/// FLOTILLA_KERNEL_SCAN, so that it keeps CUDA's keywords.
[[nodiscard]] std::string source_to_scan();

/// @param preprocessed  What the preprocessor made of source_to_scan().
/// @param user_source   For the place of errors.
/// @throws compile_error  The source uses a feature that CPU devices do not have, or has no kernel.
/// @throws no_compiler    The compiler is too old.
[[nodiscard]] std::string write_cpu_source(std::string_view preprocessed,
                                           std::string_view user_source,
                                           compile_options const& options);

/// Whether the preprocessor that made the text belongs to clang.
[[nodiscard]] bool is_from_clang(std::string_view preprocessed);

}  // namespace flotilla::compiler
