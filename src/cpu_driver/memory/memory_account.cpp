// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/memory/memory_account.hpp"

namespace flotilla::cpu_driver {
namespace {

// Rounds a size up to the granularity of a GPU's allocator. So a CPU device holds as many small
// allocations as a GPU with the same capacity.
std::size_t granules(std::size_t bytes) noexcept {
  constexpr std::size_t granule = 512;
  return bytes > ~std::size_t{0} - granule ? ~std::size_t{0}
                                           : (bytes + granule - 1) / granule * granule;
}

}  // namespace

bool memory_account::fits(std::size_t bytes) const noexcept {
  return used_ <= capacity_ && bytes <= capacity_ - used_;
}

bool memory_account::reserve(std::size_t bytes, bool may_wait) {
  std::size_t const wanted = granules(bytes);
  std::unique_lock lock(mutex_);
  // A request larger than the capacity fails at once, because no free can make it fit.
  while (!fits(wanted)) {
    if (!may_wait || expected_ == 0 || wanted > capacity_) { return false; }
    freed_.wait(lock);
  }
  used_ += wanted;
  return true;
}

void memory_account::give_back(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  used_ -= granules(bytes);
  freed_.notify_all();
}

void memory_account::expect(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  expected_ += granules(bytes);
}

void memory_account::expect_no_more(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  expected_ -= granules(bytes);
  freed_.notify_all();  // a waiting reserve() must fail if no free is expected any more
}

void memory_account::give_back_expected(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  used_ -= granules(bytes);
  expected_ -= granules(bytes);
  freed_.notify_all();
}

void memory_account::set_capacity(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  capacity_ = bytes;
  freed_.notify_all();
}

std::size_t memory_account::capacity() const noexcept {
  std::lock_guard const lock(mutex_);
  return capacity_;
}

std::size_t memory_account::available() const noexcept {
  std::lock_guard const lock(mutex_);
  return used_ < capacity_ ? capacity_ - used_ : 0;
}

}  // namespace flotilla::cpu_driver
