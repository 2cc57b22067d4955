#pragma once
/// Memory of a device, and pinned memory of the host.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <flotilla/device.hpp>
#include <flotilla/error.hpp>
#include <flotilla/export.hpp>
#include <flotilla/transfer.hpp>

namespace flotilla {

class runtime;

namespace detail {

/// Bytes that a runtime allocated: the untyped half of the buffers.
class FLOTILLA_EXPORT memory {
 public:
  enum class places : std::uint8_t { device, pinned_host };
  memory() noexcept = default;
  memory(runtime& owner, places place, device_ordinal device, std::size_t bytes);
  memory(memory&& other) noexcept { swap(other); }
  memory& operator=(memory&& other) noexcept {
    memory taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~memory();
  void swap(memory& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(place_, other.place_);
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  [[nodiscard]] dispatch::core* owner() const noexcept { return owner_; }
  [[nodiscard]] device_ordinal device() const noexcept { return device_; }
  [[nodiscard]] std::uintptr_t address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  dispatch::core* owner_ = nullptr;
  places place_ = places::device;
  device_ordinal device_;
  std::uintptr_t address_ = 0;
  std::size_t bytes_ = 0;
};

/// Submits `what` and waits for it.
FLOTILLA_EXPORT void transfer_now(transfer const& what);
[[noreturn]] FLOTILLA_EXPORT void refuse_size(std::size_t have, std::size_t other);

/// `count` objects in bytes; where that is no number, more than any driver has, so that it is refused.
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count, std::size_t each) noexcept {
  return count > PTRDIFF_MAX / each ? PTRDIFF_MAX : count * each;
}

}  // namespace detail

/// `size()` objects of pinned host memory, which every device of the runtime copies from and to
/// without staging, and GPUs can address. Uninitialised. Freed when nothing submitted before uses it.
///
/// Lifetime: must end before its runtime does. Threads: as a std::vector.
template <class T>
class host_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds bytes");

 public:
  host_buffer() noexcept = default;
  /// @param size  A count of objects; 0 makes an empty buffer.
  /// @throws driver_error  CUDA_ERROR_OUT_OF_MEMORY: there is not as much memory that can be pinned.
  host_buffer(runtime& owner, std::size_t size)
      : memory_{owner, detail::memory::places::pinned_host, device_ordinal{0},
                detail::bytes_of(size, sizeof(T))}, size_{size} {}

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.address()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }

 private:
  detail::memory memory_;
  std::size_t size_ = 0;
};

/// `size()` objects of memory of one device. Movable. Destroying it never waits: the memory is freed
/// behind the last of the tasks that were submitted before.
///
/// Lifetime: must end before its runtime does. Threads: as a std::vector.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds bytes");

 public:
  device_buffer() noexcept = default;

  /// Uninitialised memory.
  /// @param size  A count of objects; 0 makes an empty buffer without an address.
  /// @throws driver_error    CUDA_ERROR_OUT_OF_MEMORY: the device has no such room now.
  /// @throws unknown_device
  /// Blocks  for a control operation: the current batch of whoever drives the device, at most.
  device_buffer(runtime& owner, device_ordinal device, std::size_t size)
      : memory_{owner, detail::memory::places::device, device, detail::bytes_of(size, sizeof(T))}, size_{size} {}

  /// Memory with a copy of `from`, which may be changed when this returns.
  /// Blocks  until the copy is done.
  device_buffer(runtime& owner, device_ordinal device, std::span<T const> from)
      : device_buffer{owner, device, from.size()} {
    if (size_ != 0) { detail::transfer_now(copy_from(from)); }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] device_ordinal device() const noexcept { return memory_.device(); }
  [[nodiscard]] dispatch::core* owner() const noexcept { return memory_.owner(); }
  /// The device's address. It means nothing to the host.
  [[nodiscard]] std::uintptr_t address() const noexcept { return memory_.address(); }
  /// As kernels take it.
  explicit operator T*() const noexcept { return reinterpret_cast<T*>(address()); }
  explicit operator T const*() const noexcept
    requires(!std::is_const_v<T>)
  { return reinterpret_cast<T const*>(address()); }

  /// Copies as tasks, to submit: whole buffers, from and to host memory or another buffer, also of
  /// another device. Sizes must agree.
  /// @throws invalid_argument  They do not.
  /// @throws wrong_runtime     The other buffer belongs to another runtime.
  [[nodiscard]] transfer copy_from(std::span<T const> host) const {
    return host_copy(transfer::kinds::host_to_device, host.data(), host.size(), false);
  }
  [[nodiscard]] transfer copy_from(host_buffer<T> const& host) const {
    return host_copy(transfer::kinds::host_to_device, host.data(), host.size(), true);
  }
  [[nodiscard]] transfer copy_to(std::span<T> host) const {
    return host_copy(transfer::kinds::device_to_host, host.data(), host.size(), false);
  }
  [[nodiscard]] transfer copy_to(host_buffer<T> const& host) const {
    return host_copy(transfer::kinds::device_to_host, host.data(), host.size(), true);
  }
  [[nodiscard]] transfer copy_to(device_buffer const& other) const {
    if (other.size_ != size_) { detail::refuse_size(size_, other.size_); }
    // A transfer names one runtime only: that the other end is of the same one is known here alone.
    if (other.owner() != owner()) { throw wrong_runtime{"a copy to a device_buffer of another runtime"}; }
    return {.owner = owner(), .kind = transfer::kinds::device_to_device, .to = other.address(),
            .from = address(), .bytes = size_ * sizeof(T), .device = other.device(), .from_device = device()};
  }

  /// A fill as a task: every object becomes `value`. For types of 1, 2 or 4 bytes.
  [[nodiscard]] transfer fill(T const& value) const
    requires(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4)
  {
    transfer made{.owner = owner(), .kind = transfer::kinds::fill, .fill_width = sizeof(T),
                  .to = address(), .bytes = size_ * sizeof(T), .device = device()};
    std::memcpy(&made.fill_value, &value, sizeof value);
    return made;
  }

 private:
  [[nodiscard]] transfer host_copy(transfer::kinds kind, T const* host, std::size_t size, bool pinned) const {
    if (size != size_) { detail::refuse_size(size_, size); }
    auto const there = reinterpret_cast<std::uintptr_t>(host);
    bool const up = kind == transfer::kinds::host_to_device;
    return {.owner = owner(), .kind = kind, .pinned = pinned, .to = up ? address() : there,
            .from = up ? there : address(), .bytes = size_ * sizeof(T), .device = device()};
  }

  detail::memory memory_;
  std::size_t size_ = 0;
};

}  // namespace flotilla
