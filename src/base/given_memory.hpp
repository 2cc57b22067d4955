#pragma once
// An allocator for containers that lie in shared memory, with what they hold.

#include <boost/interprocess/offset_ptr.hpp>
#include <cstddef>
#include <memory>

namespace flotilla::base {

/// Gives out one piece of memory that it was given, or the heap's where it was given none. Its pointers are distances
/// from where they lie themselves: a container in the same mapping is found whole by every process that has the
/// mapping, wherever that is.
template <class T>
class given_memory {
 public:
  using value_type = T;
  using pointer = boost::interprocess::offset_ptr<T>;

  /// @param given  As many objects as the container will ask for, which it does once; or null.
  explicit given_memory(T* given = nullptr) noexcept : given_(given) {}

  [[nodiscard]] pointer allocate(std::size_t count) {
    return given_ ? given_ : pointer{std::allocator<T>{}.allocate(count)};
  }
  void deallocate(pointer from, std::size_t count) noexcept {
    if (!given_) { std::allocator<T>{}.deallocate(from.get(), count); }
  }
  [[nodiscard]] bool operator==(given_memory const& other) const noexcept { return given_ == other.given_; }

 private:
  pointer given_;
};

}  // namespace flotilla::base
