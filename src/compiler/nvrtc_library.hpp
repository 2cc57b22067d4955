// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVRTC, opened at run time. The signatures are those of nvrtc.h, which flotilla does not include,
// because only complete toolkits have it.

#include <cstddef>
#include <string>
#include <vector>

#include <flotilla/kernel/compile.hpp>

#include "compiler/opened_library.hpp"

namespace flotilla::compiler {

using nvrtc_program = struct nvrtc_opaque*;
inline constexpr int nvrtc_success = 0;
inline constexpr int nvrtc_cancelled = 16;

struct nvrtc_library {
  opened_library file;
  int major = 0;
  int minor = 0;
  std::vector<std::string> include_folders;  ///< CUDA's headers beside the library, if any
  std::string identity;                      ///< of the file and the version

  int (*version)(int*, int*) = nullptr;
  char const* (*error_text)(int) = nullptr;
  int (*create)(nvrtc_program*, char const* text, char const* name, int count,
                char const* const* headers, char const* const* names) = nullptr;
  int (*destroy)(nvrtc_program*) = nullptr;
  int (*compile)(nvrtc_program, int count, char const* const* options) = nullptr;
  int (*ptx_size)(nvrtc_program, std::size_t*) = nullptr;
  int (*ptx)(nvrtc_program, char*) = nullptr;
  int (*log_size)(nvrtc_program, std::size_t*) = nullptr;
  int (*log)(nvrtc_program, char*) = nullptr;
  int (*add_name)(nvrtc_program, char const*) = nullptr;
  int (*lowered_name)(nvrtc_program, char const*, char const**) = nullptr;
  int (*architecture_count)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
  /// Null in old versions: then a compilation cannot be ended.
  int (*set_callback)(nvrtc_program, int (*)(void*, void*), void*) = nullptr;
  /// Null before 13.3. Writes CUDA's headers into a folder. Other threads and processes may do the
  /// same at the same time. The text of an error lives until the thread's next call of NVRTC.
  int (*install_headers)(char const* folder, unsigned flags, char const** error_text) = nullptr;

  /// Returns the newest architecture that both NVRTC and a device with this architecture know, for
  /// example 90. 0: NVRTC knows only newer ones.
  [[nodiscard]] int best_architecture(int of_device) const;
};

/// Opens NVRTC. Without compile_options::nvrtc, the library is opened once.
/// @throws no_compiler
[[nodiscard]] nvrtc_library const& open_nvrtc(compile_options const& options);

}  // namespace flotilla::compiler
