#pragma once
// An allocator for containers that lie in shared memory, with what they hold.

#include <boost/interprocess/offset_ptr.hpp>
#include <cstddef>

namespace flotilla::base {

/// Gives out one piece of memory that it was given. Its pointers are distances from where they lie themselves: a
/// container in the same mapping is found whole by every process that has the mapping, wherever that is.
template <class T>
class given_memory {
 public:
  using value_type = T;
  using pointer = boost::interprocess::offset_ptr<T>;

  /// @param given  As many objects as the container will ask for, which it does once.
  explicit given_memory(T* given) noexcept : given_(given) {}

  [[nodiscard]] pointer allocate(std::size_t) noexcept { return given_; }
  void deallocate(pointer, std::size_t) noexcept {}
  [[nodiscard]] bool operator==(given_memory const& other) const noexcept { return given_ == other.given_; }

 private:
  pointer given_;
};

}  // namespace flotilla::base
