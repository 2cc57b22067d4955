// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_memory.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "base/refusal.hpp"

namespace flotilla::base {

void mapped_memory::unmap::operator()(std::byte* memory) const noexcept { ::munmap(memory, bytes); }

mapped_memory::mapped_memory(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) { throw no_memory(bytes, errno); }
  memory_ = {static_cast<std::byte*>(memory), unmap{bytes}};
}

}  // namespace flotilla::base
