#pragma once
// An allocator for containers that are in shared memory together with their elements.

#include <boost/interprocess/offset_ptr.hpp>
#include <cstddef>

namespace flotilla::base {

/// Returns a fixed buffer. Its pointers are offsets from their own address, so that every process
/// that maps the memory, at any address, can use a container in it.
template <class T>
class fixed_buffer_allocator {
 public:
  using value_type = T;
  using pointer = boost::interprocess::offset_ptr<T>;

  /// @param given  Room for as many objects as the container allocates; it must allocate only once.
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
