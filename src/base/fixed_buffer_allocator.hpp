// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// An allocator for a container in shared memory. The elements are in the same shared memory.

#include <boost/interprocess/offset_ptr.hpp>
#include <cstddef>

namespace flotilla::base {

/// Gives a container one fixed buffer. The container stores each pointer as an offset from the
/// address of the pointer. So processes that map the memory at different addresses can use the same
/// container.
template <class T>
class fixed_buffer_allocator {
 public:
  using value_type = T;
  using pointer = boost::interprocess::offset_ptr<T>;

  /// @param given  The buffer. It must have room for all objects of the container. The container
  ///               must allocate only once.
  explicit fixed_buffer_allocator(T* given) noexcept : given_(given) {}

  [[nodiscard]] pointer allocate(std::size_t) noexcept { return given_; }
  void deallocate(pointer, std::size_t) noexcept {}
  [[nodiscard]] bool operator==(fixed_buffer_allocator const& other) const noexcept {
    return given_ == other.given_;
  }

 private:
  pointer given_;
};

}  // namespace flotilla::base
