// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Views of device memory, with functions that describe copies and fills.

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include <flotilla/detail/device_range.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/memory/memory_op.hpp>

namespace flotilla {
inline namespace v0_1 {

template <class T>
class device_buffer;

namespace detail {

template <class T>
inline constexpr bool is_pinned = false;
template <class T>
inline constexpr bool is_pinned<host_buffer<T>> = true;
template <class T>
inline constexpr bool is_pinned<host_span<T>> = true;

/// Whether an argument of type `Host&&` is a temporary object that owns host memory, such as a
/// std::vector. This memory is gone when the task of the copy runs. Pinned memory is not, because
/// the runtime frees it later. Compilers print the name of this concept.
template <class Host>
concept ends_before_the_copy_runs =
    !std::is_lvalue_reference_v<Host> && std::ranges::contiguous_range<Host> &&
    !std::ranges::borrowed_range<Host> && !is_pinned<std::remove_cv_t<Host>>;

}  // namespace detail

/// A view of consecutive objects in a device_buffer, or in memory of the application (see
/// view_device_memory in <flotilla/interop.hpp>). It can be an argument of a kernel: the kernel
/// gets the address, and the launch runs on the device of the span. A `device_span<T const>` gives
/// no write access.
///
/// Lifetime: a span must not be used after its buffer is gone. Memory of the application must stay
/// until the tasks that use it have ended. Threads: same rules as for a pointer.
template <class T>
class device_span {
  static_assert(std::is_trivially_copyable_v<std::remove_cv_t<T>>,
                "device memory holds trivially copyable objects");

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  device_span() noexcept = default;
  /// A view of mutable objects converts to a view of const objects.
  template <class U>
  requires(std::is_same_v<U const, T> && !std::is_same_v<U, T>) device_span(device_span<U> other)
  noexcept : range_{detail::range_access::range(other)}, size_{other.size()} {}

  /// Returns the device address. Host code must not dereference it.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(range_.address()); }
  [[nodiscard]] std::uintptr_t address() const noexcept { return range_.address(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] device_ordinal device() const noexcept { return range_.device(); }
  /// These conversions make the span usable as a kernel argument.
  explicit operator T*() const noexcept { return data(); }
  explicit operator T const*() const noexcept requires(!std::is_const_v<T>) { return data(); }

  /// Returns a view of the `count` objects that start at index `offset`. By default the view ends
  /// where this span ends.
  /// @throws invalid_argument  The objects are not inside the span.
  [[nodiscard]] device_span subspan(std::size_t offset,
                                    std::size_t count = std::dynamic_extent) const {
    std::size_t const size = detail::checked_part(size_, offset, count);
    return device_span{range_.part(offset * sizeof(T), size * sizeof(T)), size};
  }

  // Each of these functions describes a copy. The result can be submitted as a task. The source and
  // the destination must have the same number of objects.
  //
  // @throws invalid_argument  The numbers of objects differ. The message has both numbers.
  // @throws wrong_runtime     The source and the destination belong to different runtimes.

  /// Copies from pageable memory. The runtime stages the data in pinned memory, piece by piece.
  [[nodiscard]] memory_op copy_from(std::span<value_type const> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), detail::host_memory::pageable);
  }
  template <detail::ends_before_the_copy_runs Host>
  memory_op copy_from(Host&&) const = delete;  // keep the host memory until the task has ended
  /// Copies from pinned memory.
  [[nodiscard]] memory_op copy_from(host_span<value_type const> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), detail::range_access::kind(host));
  }
  [[nodiscard]] memory_op copy_from(host_span<value_type> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), detail::range_access::kind(host));
  }
  [[nodiscard]] memory_op copy_from(host_buffer<value_type> const& host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), detail::host_memory::mapped);
  }
  /// Copies from memory of the same device or of another device.
  [[nodiscard]] memory_op copy_from(device_span<value_type const> from) const
      requires(!std::is_const_v<T>) {
    check_size(from.size());
    return detail::range_access::range(from).copy_to(range_);
  }

  /// Copies to pageable memory. The runtime stages the data in pinned memory, piece by piece.
  [[nodiscard]] memory_op copy_to(std::span<value_type> host) const {
    return to_host(host.data(), host.size(), detail::host_memory::pageable);
  }
  template <detail::ends_before_the_copy_runs Host>
  memory_op copy_to(Host&&) const = delete;  // keep the host memory until the task has ended
  /// Copies to pinned memory.
  [[nodiscard]] memory_op copy_to(host_span<value_type> host) const {
    return to_host(host.data(), host.size(), detail::range_access::kind(host));
  }
  [[nodiscard]] memory_op copy_to(host_buffer<value_type>& host) const {
    return to_host(host.data(), host.size(), detail::host_memory::mapped);
  }
  /// Copies to memory of the same device or of another device.
  [[nodiscard]] memory_op copy_to(device_span<value_type> to) const {
    check_size(to.size());
    return range_.copy_to(detail::range_access::range(to));
  }

  /// Describes a fill that sets every object to `value`. The result can be submitted as a task.
  /// The pattern of the fill is the shortest sequence of bytes that, repeated, makes up `value`.
  /// @throws invalid_argument  The pattern has more than 64 bytes. A value whose bytes are all zero
  ///                           is always accepted.
  /// Cost  one device operation if the pattern has 1, 2 or 4 bytes, or if the fill is small (64 KiB
  ///       at most) and the device is a GPU. Otherwise one device operation for each 4 bytes of the
  ///       pattern, and log2(size()) copies.
  [[nodiscard]] memory_op fill(value_type const& value) const requires(!std::is_const_v<T>) {
    return range_.fill(&value, sizeof value);
  }

 private:
  friend struct detail::range_access;
  device_span(detail::device_range const& range, std::size_t size) noexcept
      : range_{range}, size_{size} {}
  [[nodiscard]] detail::device_range range() const noexcept { return range_; }

  void check_size(std::size_t other) const {
    if (other != size_) { detail::refuse_size(size_, other); }
  }
  [[nodiscard]] memory_op from_host(value_type const* host, std::size_t size,
                                    detail::host_memory kind) const {
    check_size(size);
    return range_.copy_from_host(host, kind);
  }
  [[nodiscard]] memory_op to_host(value_type* host, std::size_t size,
                                  detail::host_memory kind) const {
    check_size(size);
    return range_.copy_to_host(host, kind);
  }

  detail::device_range range_;
  std::size_t size_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
