#pragma once
/// A view of memory of one device, and the copies and fills of it.

#include <cstddef>
#include <cstdint>
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

/// Consecutive objects of a device_buffer. A kernel takes it as an argument and gets its address;
/// the launch then runs on its device. A `device_span<T const>` cannot be written through.
///
/// Lifetime: as a pointer into the buffer. Threads: as a pointer.
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

  /// The address on the device. The host cannot access it.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(range_.address()); }
  [[nodiscard]] std::uintptr_t address() const noexcept { return range_.address(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] device_ordinal device() const noexcept { return range_.device(); }
  /// Kernel arguments are converted in this way.
  explicit operator T*() const noexcept { return data(); }
  explicit operator T const*() const noexcept requires(!std::is_const_v<T>) { return data(); }

  /// `count` objects from `offset` on; by default all that follow.
  /// @throws invalid_argument  They do not lie in the span.
  [[nodiscard]] device_span subspan(std::size_t offset,
                                    std::size_t count = std::dynamic_extent) const {
    std::size_t const size = detail::checked_part(size_, offset, count);
    return device_span{range_.part(offset * sizeof(T), size * sizeof(T)), size};
  }

  // Copies as tasks, to submit. Both sides must have the same number of objects.
  //
  // @throws invalid_argument  The numbers differ; the message has both.
  // @throws wrong_runtime     The other side belongs to another runtime.

  /// From pageable memory, in pieces through pinned memory.
  [[nodiscard]] memory_op copy_from(std::span<value_type const> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), false);
  }
  /// From pinned memory.
  [[nodiscard]] memory_op copy_from(host_span<value_type const> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), true);
  }
  [[nodiscard]] memory_op copy_from(host_span<value_type> host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), true);
  }
  [[nodiscard]] memory_op copy_from(host_buffer<value_type> const& host) const
      requires(!std::is_const_v<T>) {
    return from_host(host.data(), host.size(), true);
  }
  /// From memory of this device or of another one.
  [[nodiscard]] memory_op copy_from(device_span<value_type const> from) const
      requires(!std::is_const_v<T>) {
    check_size(from.size());
    return detail::range_access::range(from).copy_to(range_);
  }

  /// To pageable memory, in pieces through pinned memory.
  [[nodiscard]] memory_op copy_to(std::span<value_type> host) const {
    return to_host(host.data(), host.size(), false);
  }
  /// To pinned memory.
  [[nodiscard]] memory_op copy_to(host_span<value_type> host) const {
    return to_host(host.data(), host.size(), true);
  }
  [[nodiscard]] memory_op copy_to(host_buffer<value_type>& host) const {
    return to_host(host.data(), host.size(), true);
  }
  /// To memory of this device or of another one.
  [[nodiscard]] memory_op copy_to(device_span<value_type> to) const {
    check_size(to.size());
    return range_.copy_to(detail::range_access::range(to));
  }

  /// A fill as a task, to submit: every object becomes `value`.
  /// @throws invalid_argument  `value` does not repeat a pattern of at most 64 bytes. (Zero always
  ///                           does.)
  /// Cost  one operation of the device if `value` repeats 1, 2 or 4 bytes; else 1 for each 4 bytes
  ///       of `value`, and log2(size()) copies.
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
  [[nodiscard]] memory_op from_host(value_type const* host, std::size_t size, bool pinned) const {
    check_size(size);
    return range_.copy_from_host(host, pinned);
  }
  [[nodiscard]] memory_op to_host(value_type* host, std::size_t size, bool pinned) const {
    check_size(size);
    return range_.copy_to_host(host, pinned);
  }

  detail::device_range range_;
  std::size_t size_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
