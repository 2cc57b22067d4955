// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts that the build puts into the library (src/CMakeLists.txt).

#include <span>
#include <string_view>

namespace flotilla::compiler {

/// A header of the kernel language.
struct kernel_header {
  char const* name;  ///< as in #include, for example "flotilla/kernel_language.hpp"
  char const* text;
};

[[nodiscard]] std::span<kernel_header const> kernel_headers() noexcept;
/// The linker's version script of CPU images.
[[nodiscard]] std::string_view cpu_image_map() noexcept;
/// The path of the C++ compiler that compiled flotilla.
[[nodiscard]] std::string_view compiler_of_flotilla() noexcept;

}  // namespace flotilla::compiler
