// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file in memory, for functions that read files.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace flotilla::test {

class memory_file {
 public:
  memory_file(std::uint8_t const* bytes, std::size_t size)
      : descriptor_{::memfd_create("fuzz", 0)} {
    if (descriptor_ < 0 || ::write(descriptor_, bytes, size) != static_cast<ssize_t>(size)) {
      std::abort();  // the system has no memory for the file, which is no finding
    }
  }
  ~memory_file() { ::close(descriptor_); }
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace flotilla::test
