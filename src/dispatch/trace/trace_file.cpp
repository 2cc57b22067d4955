// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

trace_file::trace_file(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw trace_failed("the trace '" + path_.string() +
                       "' cannot be opened: " + std::generic_category().message(errno));
  }
}

trace_file::~trace_file() { close(); }

bool trace_file::write(std::string const& bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size() && error_ == 0) {
    ssize_t const count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0) {
      if (errno != EINTR) { error_ = errno; }
      continue;
    }
    done += static_cast<std::size_t>(count);
  }
  written_ += done;
  return error_ == 0;
}

void trace_file::close() noexcept {
  if (descriptor_ < 0) { return; }
  if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) { error_ = errno; }
}

}  // namespace flotilla::dispatch
