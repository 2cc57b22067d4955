// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/fiber_stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace flotilla::cpu_driver {
namespace {

std::size_t page_bytes() noexcept {
  static std::size_t const bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Returns the distance from a new stack's top to the end of its mapping. The distance differs from
// stack to stack. Otherwise the frames of all fibers would have the same addresses modulo the page
// size, and would use the same few cache sets. With 256 threads at a barrier, the different
// distances make a switch several times as fast.
std::size_t next_offset() noexcept {
  constexpr std::size_t
      step = 5 * 64,
      range = 4096;  // in bytes; `step` is a multiple of a cache line and does not divide `range`
  thread_local std::size_t offset = 0;
  return offset = (offset + step) % range;
}

}  // namespace

fiber_stack::fiber_stack(std::size_t bytes) noexcept : offset_(next_offset()) {
  std::size_t const page = page_bytes();
  mapped_ = (bytes + offset_ + page - 1) / page * page + page;
  void* const mapping = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) { return; }
  mapping_ = mapping;
  // mprotect fails if the process has reached the system's limit of mappings. The error is ignored,
  // because the stack also works without a guard page, which only helps to find bugs in kernels.
  static_cast<void>(::mprotect(mapping_, page, PROT_NONE));
}

fiber_stack::~fiber_stack() {
  if (mapping_ != nullptr) { ::munmap(mapping_, mapped_); }
}

void* fiber_stack::bottom() const noexcept { return static_cast<char*>(mapping_) + page_bytes(); }
void* fiber_stack::top() const noexcept { return static_cast<char*>(mapping_) + mapped_ - offset_; }
std::size_t fiber_stack::size() const noexcept { return mapped_ - page_bytes() - offset_; }

}  // namespace flotilla::cpu_driver
