// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles kernels for GPUs.

#include <string>
#include <string_view>
#include <vector>

#include <flotilla/kernel/compile.hpp>

#include "compiler/assembler.hpp"
#include "compiler/compiled_code.hpp"
#include "compiler/digest.hpp"
#include "compiler/nvrtc_library.hpp"

namespace flotilla::compiler {

/// The GPUs of a runtime.
struct gpu_target {
  int architecture;  ///< the oldest: 10 times major, plus minor, for example 90
  bool is_uniform;   ///< whether all GPUs have this architecture
};

/// Compiles with NVRTC to PTX, adds twins (docs/kernels.md#twins), and assembles the result if all
/// GPUs have one architecture and nvJitLink exists.
class gpu_compiler {
 public:
  /// @throws no_compiler
  gpu_compiler(compile_options const& options, gpu_target target);

  /// Adds what the result depends on, except the source and its headers.
  void add_to(key_text& key) const;
  /// @param cache_folder  For the headers of CUDA (bundled_headers.hpp); may be empty.
  /// @throws compile_error, timed_out
  [[nodiscard]] compiled_code compile(std::string_view source,
                                      std::string const& cache_folder) const;

 private:
  [[nodiscard]] compiled_code compile_to_ptx(std::string_view source,
                                             std::vector<std::string> const& header_folders) const;
  void add_twins(compiled_code& to) const;
  void assemble(compiled_code& ptx) const;
  [[nodiscard]] std::vector<std::string> nvrtc_options() const;

  compile_options const& options_;
  gpu_target const target_;
  nvrtc_library const& nvrtc_;
  assembler const assembler_;
  int const architecture_;  // of the PTX
};

}  // namespace flotilla::compiler
