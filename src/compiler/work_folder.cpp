// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/work_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <flotilla/error/error.hpp>

#include "compiler/file_io.hpp"
#include "compiler/privileges.hpp"

namespace flotilla::compiler {

work_folder::work_folder() {
  std::string parent = trusted_environment("TMPDIR");
  if (!parent.starts_with('/')) { parent = "/tmp"; }
  path_ = parent + "/flotilla-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw error("compiling kernels needs a temporary folder, but none can be made in " + parent +
                ": " + std::strerror(errno) + "; set TMPDIR to a folder that can be written");
  }
}

work_folder::~work_folder() {
  std::error_code ignored;  // a file that remains is lost space and nothing else
  std::filesystem::remove_all(path_, ignored);
}

std::string work_folder::path_of(std::string_view name) const {
  return path_ + "/" + std::string{name};
}

void work_folder::write(std::string_view name, std::string_view text) const {
  std::string const path = path_of(name);
  std::error_code ignored;  // then the file cannot be opened either
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), ignored);
  file_handle const file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!file.is_open() || !write_all(file.get(), text)) {
    throw error("compiling kernels needs the temporary file " + path +
                ", but it cannot be written: " + std::strerror(errno));
  }
}

}  // namespace flotilla::compiler
