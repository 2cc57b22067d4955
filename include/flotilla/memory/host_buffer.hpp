// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Buffers of pinned host memory.

#include <cstddef>
#include <span>
#include <type_traits>

#include <flotilla/detail/allocation.hpp>
#include <flotilla/memory/host_span.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Owns `size()` objects of pinned host memory. The memory is not initialized. Every device of the
/// runtime can copy from and to this memory without staging, and GPUs can access it directly. The
/// destructor never waits. The runtime frees the memory after the end of all tasks that were
/// submitted before the destructor call.
///
/// Lifetime: must end before its runtime does. If it ends later, the destructor prints a message
/// and frees nothing. Threads: same rules as for a std::vector.
template <class T>
class host_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a host_buffer holds trivially copyable objects");

 public:
  host_buffer() noexcept = default;
  /// @param size  The number of objects. 0 makes an empty buffer.
  /// @throws driver_error  CUDA_ERROR_OUT_OF_MEMORY if the driver cannot pin that much memory.
  host_buffer(runtime& owner, std::size_t size)
      : memory_{owner, detail::allocation::places::pinned_host, device_ordinal{0},
                detail::bytes_of(size, sizeof(T))},
        size_{size} {}

  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(memory_.range().address()); }
  [[nodiscard]] T const* data() const noexcept {
    return reinterpret_cast<T const*>(memory_.range().address());
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T const* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] T const* end() const noexcept { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return data()[i]; }

  [[nodiscard]] host_span<T> span() noexcept {
    return host_span<T>{std::span<T>{data(), size_}, detail::host_memory::mapped};
  }
  [[nodiscard]] host_span<T const> span() const noexcept {
    return host_span<T const>{std::span<T const>{data(), size_}, detail::host_memory::mapped};
  }
  /// Returns a view of the `count` objects that start at index `offset`. By default the view ends
  /// with the buffer.
  /// @throws invalid_argument  The objects are not inside the buffer.
  [[nodiscard]] host_span<T> subspan(std::size_t offset, std::size_t count = std::dynamic_extent) {
    return span().subspan(offset, count);
  }
  [[nodiscard]] host_span<T const> subspan(std::size_t offset,
                                           std::size_t count = std::dynamic_extent) const {
    return span().subspan(offset, count);
  }

 private:
  detail::allocation memory_;
  std::size_t size_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
