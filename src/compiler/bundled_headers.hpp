// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA's headers on machines without a toolkit.

#include <optional>
#include <string>
#include <vector>

#include "compiler/nvrtc_library.hpp"
#include "compiler/work_folder.hpp"

namespace flotilla::compiler {

/// The headers of CUDA and CCCL that NVRTC 13.3 and later contain, 2400 files with 26 MB. NVRTC
/// reads them only as files. So they are written into the folder of the cache once, which takes
/// some 0.5 s, or without a cache into a temporary folder for one compilation.
class bundled_headers {
 public:
  /// Writes the headers if they are not there yet. Does nothing if NVRTC is a part of a toolkit,
  /// which has headers, or if it contains none. A folder that cannot be written is a warning in the
  /// log, because the source may do without the headers.
  /// @param cache_folder  Must be private to the user. If empty, there is no cache.
  bundled_headers(nvrtc_library const& nvrtc, std::string const& cache_folder);

  /// The folders for #include.
  [[nodiscard]] std::vector<std::string> const& folders() const noexcept { return folders_; }

 private:
  std::optional<work_folder> temporary_;
  std::vector<std::string> folders_;
};

}  // namespace flotilla::compiler
