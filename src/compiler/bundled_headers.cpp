// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/bundled_headers.hpp"

#include "base/log.hpp"
#include "compiler/digest.hpp"

namespace flotilla::compiler {

bundled_headers::bundled_headers(nvrtc_library const& nvrtc, std::string const& cache_folder) {
  if (!nvrtc.include_folders.empty() || nvrtc.install_headers == nullptr) { return; }
  std::string folder;
  if (cache_folder.empty()) {
    temporary_.emplace();
    folder = temporary_->path_of("headers");
  } else {
    // NVRTC compares only major and minor version with those of the files.
    folder = cache_folder + "/headers-" + digest_of(nvrtc.identity);
  }
  constexpr unsigned if_missing = 0;  // NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS
  char const* why = nullptr;
  if (nvrtc.install_headers(folder.c_str(), if_missing, &why) != nvrtc_success) {
    base::log(log_level::warning, "kernels are compiled without the headers of CUDA that " +
                                      nvrtc.file.path + " contains: it cannot write them into " +
                                      folder + ": " + (why != nullptr ? why : "no reason given"));
    return;
  }
  folders_ = {folder, folder + "/cccl"};
}

}  // namespace flotilla::compiler
