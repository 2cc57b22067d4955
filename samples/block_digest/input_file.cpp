// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace block_digest {

namespace {

[[noreturn]] void fail(int error) { throw std::system_error{error, std::generic_category()}; }

}  // namespace

// The walk saw a regular file, but a link or a pipe may have replaced the file since then. With
// O_NOFOLLOW, open() refuses a link. With O_NONBLOCK, open() does not wait for the writer of a
// pipe.
input_file::input_file(std::string const& path)
    : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)} {
  if (descriptor_ < 0) { fail(errno); }
  struct stat status {};
  int error = ::fstat(descriptor_, &status) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(status.st_mode)) { error = EINVAL; }
  if (error != 0) {
    ::close(descriptor_);  // no destructor runs, because this constructor throws
    fail(error);
  }
}

input_file::~input_file() { ::close(descriptor_); }

std::size_t input_file::read(std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    ssize_t const got = ::read(descriptor_, into.data() + filled, into.size() - filled);
    if (got == 0) { break; }
    if (got < 0) {
      if (errno == EINTR) { continue; }
      fail(errno);
    }
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

}  // namespace block_digest
