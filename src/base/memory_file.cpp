// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_file.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace flotilla::base {

namespace {
// Linux 6.3. Headers of older systems do not have it.
constexpr unsigned not_executable = 0x8;  // MFD_NOEXEC_SEAL
}  // namespace

int make_memory_file(char const* name) noexcept {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int const made = ::memfd_create(name, flags | not_executable);
  // Older kernels do not know the flag.
  return made < 0 && errno == EINVAL ? ::memfd_create(name, flags) : made;
}

bool set_file_size(int file, std::size_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    errno = EFBIG;
    return false;
  }
  return ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

}  // namespace flotilla::base
