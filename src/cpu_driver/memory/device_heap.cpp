// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/memory/device_heap.hpp"

#include <cstdlib>
#include <new>

#include "cpu_driver/properties/limits.hpp"

namespace flotilla::cpu_driver {

device_heap::~device_heap() {
  for (auto const& block : blocks_) { std::free(block.first); }
}

void* device_heap::allocate(std::size_t bytes) noexcept {
  limits_.settle_heap();
  std::size_t const limit = limits_.heap_bytes();
  std::lock_guard const lock(mutex_);
  if (bytes == 0 || used_ > limit || bytes > limit - used_) { return nullptr; }
  void* const made = std::malloc(bytes);
  if (made == nullptr) { return nullptr; }
  try {
    blocks_.emplace(made, bytes);
  } catch (std::bad_alloc const&) {
    std::free(made);
    return nullptr;
  }
  used_ += bytes;
  return made;
}

void device_heap::release(void* address) noexcept {
  limits_.settle_heap();
  std::lock_guard const lock(mutex_);
  auto const found = blocks_.find(address);
  if (found == blocks_.end()) { return; }
  used_ -= found->second;
  blocks_.erase(found);
  std::free(address);
}

}  // namespace flotilla::cpu_driver
