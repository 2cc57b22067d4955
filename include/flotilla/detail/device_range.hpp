// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A range of bytes in the memory of a device. device_buffer and device_span add the element type.

#include <cstddef>
#include <cstdint>
#include <span>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/memory/memory_op.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Threads: same rules as for an `int`.
class FLOTILLA_EXPORT device_range {
 public:
  device_range() noexcept = default;
  device_range(runtime_impl* owner, device_ordinal device, std::uintptr_t address,
               std::size_t bytes, kernel_reach reach) noexcept
      : owner_{owner}, address_{address}, bytes_{bytes}, device_{device}, reach_{reach} {}

  [[nodiscard]] runtime_impl* owner() const noexcept { return owner_; }
  [[nodiscard]] device_ordinal device() const noexcept { return device_; }
  [[nodiscard]] std::uintptr_t address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Returns the `bytes` bytes that start at `offset`. They must be inside this range.
  [[nodiscard]] device_range part(std::size_t offset, std::size_t bytes) const noexcept {
    return {owner_, device_, address_ + offset, bytes, reach_};
  }

  // These four functions return an operation on all bytes of the range.

  [[nodiscard]] memory_op copy_from_host(void const* host, host_memory kind) const noexcept;
  [[nodiscard]] memory_op copy_to_host(void* host, host_memory kind) const noexcept;
  /// @param to  A range with as many bytes as this one.
  /// @throws wrong_runtime  `to` belongs to another runtime.
  [[nodiscard]] memory_op copy_to(device_range const& to) const;
  /// @param value  Points to `size` bytes. The size of the range must be a multiple of `size`.
  /// @throws invalid_argument  The shortest pattern that, repeated, makes up `value` has more than
  ///                           `memory_command::max_pattern_bytes` bytes.
  [[nodiscard]] memory_op fill(void const* value, std::size_t size) const;

 private:
  runtime_impl* owner_ = nullptr;
  std::uintptr_t address_ = 0;
  std::size_t bytes_ = 0;
  device_ordinal device_;
  kernel_reach reach_ = kernel_reach::nowhere;
};

/// Gives the library's templates access to the range of a span or buffer.
struct range_access {
  template <class T>
  [[nodiscard]] static device_range range(T const& of) noexcept {
    return of.range();
  }
  template <class Span>
  [[nodiscard]] static Span make(device_range const& range, std::size_t size) noexcept {
    return Span{range, size};
  }
  /// @param kind  pinned or mapped
  template <class Span, class T>
  [[nodiscard]] static Span make(std::span<T> memory, host_memory kind) noexcept {
    return Span{memory, kind};
  }
  template <class T>
  [[nodiscard]] static host_memory kind(T const& of) noexcept {
    return of.kind_;
  }
};

/// Submits `what` and waits for it.
FLOTILLA_EXPORT void run_memory_op(memory_op const& what);
[[noreturn]] FLOTILLA_EXPORT void refuse_size(std::size_t on_device, std::size_t other);
[[noreturn]] FLOTILLA_EXPORT void refuse_part(std::size_t size, std::size_t offset,
                                              std::size_t count);

/// Returns the size in bytes of `count` objects of `each` bytes. If the size is larger than
/// PTRDIFF_MAX, the result is PTRDIFF_MAX, which is more than a driver can allocate.
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count, std::size_t each) noexcept {
  return count > PTRDIFF_MAX / each ? PTRDIFF_MAX : count * each;
}

/// Checks a part of a span and returns the number of objects in this part. The span has `size`
/// objects. The part starts at `offset` and has `count` objects. If `count` is std::dynamic_extent,
/// the part ends with the span.
/// @throws invalid_argument  The part is not inside the span.
[[nodiscard]] inline std::size_t checked_part(std::size_t size, std::size_t offset,
                                              std::size_t count) {
  if (offset > size) { refuse_part(size, offset, count); }
  if (count == static_cast<std::size_t>(-1)) { return size - offset; }
  if (count > size - offset) { refuse_part(size, offset, count); }
  return count;
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
