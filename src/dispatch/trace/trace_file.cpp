// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/refusal.hpp"

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
  if (error_ != 0) { return false; }
  std::size_t done = 0;
  error_ = base::write_all(descriptor_, bytes, &done);
  written_ += done;
  return error_ == 0;
}

void trace_file::close() noexcept {
  if (descriptor_ < 0) { return; }
  if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) { error_ = errno; }
}

}  // namespace flotilla::dispatch
