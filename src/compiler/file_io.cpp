// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/file_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/refusal.hpp"

namespace flotilla::compiler {

void file_handle::close() noexcept {
  if (is_open()) { ::close(std::exchange(descriptor_, -1)); }
}

bool read_all(int descriptor, std::string& into) {
  std::array<char, 65536> part;
  for (;;) {
    ssize_t const count = ::read(descriptor, part.data(), part.size());
    if (count == 0) { return true; }
    if (count < 0 && errno == EINTR) { continue; }
    if (count < 0) { return false; }
    into.append(part.data(), static_cast<std::size_t>(count));
  }
}

bool write_all(int descriptor, std::string_view bytes) noexcept {
  errno = base::write_all(descriptor, bytes);
  return errno == 0;
}

bool read_file(std::string const& path, std::string& into) {
  file_handle const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  return file.is_open() && read_all(file.get(), into);
}

}  // namespace flotilla::compiler
