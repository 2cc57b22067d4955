// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translates PTX to machine code with nvJitLink, a library of the toolkit.

#include <optional>
#include <string>
#include <vector>

#include "compiler/nvrtc_library.hpp"

namespace flotilla::compiler {

/// nvJitLink of the same version as NVRTC. It may be missing: then the driver translates the PTX.
class assembler {
 public:
  /// Opens the library beside NVRTC's file, or where the dynamic loader finds it.
  explicit assembler(nvrtc_library const& beside);

  [[nodiscard]] bool is_usable() const noexcept { return create_ != nullptr; }
  /// The file and the version; empty without the library.
  [[nodiscard]] std::string const& identity() const noexcept { return identity_; }
  /// Returns a cubin, or the reason in `why_not`.
  [[nodiscard]] std::optional<std::string> assemble(std::string const& ptx, int architecture,
                                                    std::vector<std::string> const& options,
                                                    std::string& why_not) const;

 private:
  using handle = struct nvjitlink_opaque*;

  opened_library file_;
  std::string identity_;
  int (*create_)(handle*, unsigned count, char const** options) = nullptr;
  int (*destroy_)(handle*) = nullptr;
  int (*add_)(handle, int kind, void const* data, std::size_t bytes, char const* name) = nullptr;
  int (*complete_)(handle) = nullptr;
  int (*cubin_size_)(handle, std::size_t*) = nullptr;
  int (*cubin_)(handle, void*) = nullptr;
  int (*log_size_)(handle, std::size_t*) = nullptr;
  int (*log_)(handle, char*) = nullptr;
};

}  // namespace flotilla::compiler
