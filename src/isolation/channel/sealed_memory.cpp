// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/sealed_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/memory_file.hpp"
#include "isolation/channel/system_error.hpp"

namespace flotilla::isolated {

namespace {

constexpr int needed_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
descriptor::~descriptor() {
  if (number_ >= 0) { ::close(number_); }
}
int descriptor::release() noexcept { return std::exchange(number_, -1); }

descriptor make_sealed_memory(char const* name, std::size_t bytes) {
  descriptor made{base::make_memory_file(name)};
  if (!made.valid()) { throw_refused("memfd_create", name); }
  if (!base::set_file_size(made.get(), bytes)) {
    throw_refused("ftruncate", std::string{name} + ", " + std::to_string(bytes) + " bytes");
  }
  if (::fcntl(made.get(), F_ADD_SEALS, needed_seals) != 0) { throw_refused("fcntl", name); }
  return made;
}

bool is_sealed_memory(int number, std::size_t bytes) noexcept {
  struct stat about {};
  int const seals = ::fcntl(number, F_GET_SEALS);
  // The kernel adds F_SEAL_EXEC to a memfd that is not executable.
  return ::fstat(number, &about) == 0 && static_cast<std::size_t>(about.st_size) == bytes &&
         seals >= 0 && (seals & needed_seals) == needed_seals;
}

mapping::mapping(descriptor const& of, std::size_t bytes, void* at) : bytes_(bytes) {
  int const flags = MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED_NOREPLACE : 0);
  void* const made = ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, of.get(), 0);
  if (made == MAP_FAILED) { throw_no_addresses("memory that is shared with a worker", bytes); }
  data_ = static_cast<std::byte*>(made);
}
mapping::mapping(mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
mapping& mapping::operator=(mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
mapping::~mapping() {
  if (data_ != nullptr) { ::munmap(data_, bytes_); }
}

}  // namespace flotilla::isolated
