// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace block_digest {

namespace {

std::error_code code_of(int error) { return {error, std::generic_category()}; }

}  // namespace

input_file::input_file(std::string const& path)
    : path_{std::make_shared<std::string const>(path)} {}

input_file::~input_file() {
  if (descriptor_ >= 0) { ::close(descriptor_); }
}

// The walk saw a regular file, but a link or a pipe may have replaced the file since then. With
// O_NOFOLLOW, open() refuses a link. With O_NONBLOCK, open() does not wait for the writer of a
// pipe.
std::error_code input_file::open() {
  descriptor_ = ::open(path_->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor_ < 0) { return code_of(errno); }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) { return code_of(errno); }
  return S_ISREG(status.st_mode) ? std::error_code{} : code_of(EINVAL);
}

input_file::outcome input_file::read_at(std::uint64_t offset, std::span<std::byte> into) {
  std::call_once(opened_, [this] { open_error_ = open(); });
  if (open_error_) { return {0, open_error_}; }
  std::size_t filled = 0;
  while (filled < into.size()) {
    ssize_t const got = ::pread(descriptor_, into.data() + filled, into.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got == 0) { break; }
    if (got < 0) {
      if (errno == EINTR) { continue; }
      return {filled, code_of(errno)};
    }
    filled += static_cast<std::size_t>(got);
  }
  return {filled, {}};
}

}  // namespace block_digest
