// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/sealed_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace flotilla::isolated {

namespace {
constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
descriptor::~descriptor() {
  if (number_ >= 0) { ::close(number_); }
}
int descriptor::release() noexcept { return std::exchange(number_, -1); }

descriptor make_sealed_memory(char const* name, std::size_t bytes) noexcept {
  descriptor made{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  bool const is_made = made.valid() && ::ftruncate(made.get(), static_cast<off_t>(bytes)) == 0 &&
                       ::fcntl(made.get(), F_ADD_SEALS, all_seals) == 0;
  return is_made ? std::move(made) : descriptor{};
}

bool is_sealed_memory(int number, std::size_t bytes) noexcept {
  struct stat about {};
  return ::fstat(number, &about) == 0 && static_cast<std::size_t>(about.st_size) == bytes &&
         ::fcntl(number, F_GET_SEALS) == all_seals;
}

mapping::mapping(descriptor const& of, std::size_t bytes, void* at) : bytes_(bytes) {
  int const flags = MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED_NOREPLACE : 0);
  void* const made = ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, of.get(), 0);
  if (made == MAP_FAILED) { throw std::bad_alloc{}; }
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
