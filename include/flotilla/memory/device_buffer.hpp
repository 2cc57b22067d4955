// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Buffers of device memory.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <flotilla/detail/allocation.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/memory/device_span.hpp>
#include <flotilla/memory/memory_op.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Owns `size()` objects in the memory of one device. Movable. The destructor never waits. The
/// runtime frees the memory after the end of all tasks that were submitted before the destructor
/// call.
///
/// A `device_buffer const` gives no write access to its memory.
///
/// The memory comes from the memory pool of the device. No context owns it, so only the runtime
/// frees it, before the runtime releases its contexts.
///
/// Lifetime: must end before its runtime does. If it ends later, the destructor prints a message
/// and frees nothing. Threads: same rules as for a std::vector.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable objects");

 public:
  using value_type = T;

  device_buffer() noexcept = default;

  /// Allocates memory without initializing it.
  /// @param size  The number of objects. 0 makes an empty buffer with the address 0.
  /// @throws driver_error    CUDA_ERROR_OUT_OF_MEMORY if the device does not have that much free
  ///                         memory. The text says how much is free, and how much the buffers of
  ///                         the runtime have.
  /// @throws unknown_device
  /// Blocks  for one control operation: until the thread that drives the device has launched the
  ///         current batch.
  device_buffer(runtime& owner, device_ordinal device, std::size_t size)
      : memory_{owner, detail::allocation::places::device, device,
                detail::bytes_of(size, sizeof(T))},
        size_{size} {}

  /// Allocates memory and copies `from` to this memory. `from` may change after the call.
  /// Blocks  until the copy is done.
  device_buffer(runtime& owner, device_ordinal device, std::span<T const> from)
      : device_buffer{owner, device, from.size()} {
    if (size_ != 0) { detail::run_memory_op(copy_from(from)); }
  }

  template <std::integral Number, class SizeOrHost>
  device_buffer(runtime&, Number, SizeOrHost&&) = delete;  // write device_ordinal{n}

  /// Returns the device address. Host code must not dereference it.
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(address()); }
  [[nodiscard]] T const* data() const noexcept { return reinterpret_cast<T const*>(address()); }
  [[nodiscard]] std::uintptr_t address() const noexcept { return memory_.range().address(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] device_ordinal device() const noexcept { return memory_.range().device(); }
  /// These conversions make the buffer usable as a kernel argument.
  explicit operator T*() noexcept { return data(); }
  explicit operator T const*() const noexcept { return data(); }

  [[nodiscard]] device_span<T> span() noexcept {
    return detail::range_access::make<device_span<T>>(memory_.range(), size_);
  }
  [[nodiscard]] device_span<T const> span() const noexcept {
    return detail::range_access::make<device_span<T const>>(memory_.range(), size_);
  }
  operator device_span<T>() noexcept { return span(); }
  operator device_span<T const>() const noexcept { return span(); }
  /// Returns a view of the `count` objects that start at index `offset`. By default the view ends
  /// with the buffer.
  /// @throws invalid_argument  The objects are not inside the buffer.
  [[nodiscard]] device_span<T> subspan(std::size_t offset,
                                       std::size_t count = std::dynamic_extent) {
    return span().subspan(offset, count);
  }
  [[nodiscard]] device_span<T const> subspan(std::size_t offset,
                                             std::size_t count = std::dynamic_extent) const {
    return span().subspan(offset, count);
  }

  /// Each of these functions describes a copy or fill of the whole buffer. The result can be
  /// submitted as a task. For a part of the buffer, call the same function of the span that
  /// `subspan()` returns.
  template <class From>
  requires(!detail::ends_before_the_copy_runs<From>) [[nodiscard]] memory_op
      copy_from(From&& from) requires requires(device_span<T> all) {
    all.copy_from(from);
  }
  { return span().copy_from(from); }
  template <class To>
  requires(!detail::ends_before_the_copy_runs<To>) [[nodiscard]] memory_op
      copy_to(To&& to) const requires requires(device_span<T const> all) {
    all.copy_to(to);
  }
  { return span().copy_to(to); }
  template <detail::ends_before_the_copy_runs Host>
  memory_op copy_from(Host&&) = delete;  // keep the host memory until the task has ended
  template <detail::ends_before_the_copy_runs Host>
  memory_op copy_to(Host&&) const = delete;  // keep the host memory until the task has ended
  [[nodiscard]] memory_op fill(T const& value) { return span().fill(value); }

 private:
  friend struct detail::range_access;
  [[nodiscard]] detail::device_range range() const noexcept { return memory_.range(); }

  detail::allocation memory_;
  std::size_t size_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
