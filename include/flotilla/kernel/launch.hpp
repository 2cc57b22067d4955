// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel launch as data.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/detail/parameter_info.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {
struct launch_builder;
}

/// The size of a grid in blocks, or of a block in threads, in three dimensions. Each dimension must
/// be at least 1.
struct extent {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr extent() = default;
  constexpr extent(std::uint32_t x_size, std::uint32_t y_size = 1, std::uint32_t z_size = 1)
      : x{x_size}, y{y_size}, z{z_size} {}
};

/// Describes a kernel launch: the kernel, the grid, the block, and a copy of the arguments.
/// `kernel::over` and `kernel::with_shape` make launches. The same launch can be submitted any
/// number of times.
///
/// Threads: same rules as for an `int`. Cost: no driver call. A launch with more than 128 bytes of
/// arguments allocates memory.
class launch {
 public:
  static constexpr std::size_t inline_bytes = 128;
  static constexpr std::size_t max_bytes = 4096;  ///< the maximum size of all arguments together

  /// A moved-from launch can only be assigned to or destroyed. Submitting it throws
  /// invalid_argument.
  launch(launch&& other) noexcept { *this = std::move(other); }
  launch& operator=(launch&& other) noexcept {
    if (this == &other) { return *this; }
    copy_shape(other);
    bytes_ = std::exchange(other.bytes_, 0);
    large_ = std::move(other.large_);
    ranges_ = std::move(other.ranges_);
    if (!large_) { std::memcpy(small_, other.small_, inline_bytes); }
    other.owner_ = nullptr;
    return *this;
  }
  launch(launch const& other) { *this = other; }
  launch& operator=(launch const& other) {
    if (this == &other) { return *this; }
    copy_shape(other);
    bytes_ = 0;
    large_.reset();
    ranges_ = other.ranges_;
    append(other.arguments(), other.bytes_, 1);
    return *this;
  }

  [[nodiscard]] extent grid() const noexcept { return grid_; }
  [[nodiscard]] extent block() const noexcept { return block_; }
  [[nodiscard]] std::uint32_t dynamic_shared_bytes() const noexcept { return shared_; }
  /// Returns the bytes of the arguments. The offset of each argument is a multiple of its
  /// alignment.
  [[nodiscard]] void const* arguments() const noexcept { return large_ ? large_.get() : small_; }
  [[nodiscard]] std::size_t argument_bytes() const noexcept { return bytes_; }
  /// Returns the device of the buffers among the arguments, or empty if no argument is a buffer.
  [[nodiscard]] std::optional<device_ordinal> device() const noexcept { return device_; }

 private:
  friend struct detail::access;
  friend struct detail::launch_builder;
  launch(detail::runtime_impl* owner, std::uint32_t kernel, extent grid, extent block,
         std::uint32_t dynamic_shared_bytes, std::span<detail::parameter_info const> parameters,
         bool records_ranges) noexcept
      : owner_{owner},
        kernel_{kernel},
        shared_{dynamic_shared_bytes},
        grid_{grid},
        block_{block},
        records_ranges_{records_ranges},
        parameters_{parameters} {}

  /// Copies everything except the arguments.
  void copy_shape(launch const& other) noexcept {
    owner_ = other.owner_;
    kernel_ = other.kernel_;
    shared_ = other.shared_;
    grid_ = other.grid_;
    block_ = other.block_;
    device_ = other.device_;
    records_ranges_ = other.records_ranges_;
    parameters_ = other.parameters_;
  }

  /// Appends an argument of `size` bytes at the next multiple of `alignment`, a power of two.
  void append(void const* value, std::size_t size, std::size_t alignment) {
    std::size_t const at = (bytes_ + alignment - 1) & ~(alignment - 1);
    if (at + size > inline_bytes && !large_) {
      large_ = std::make_unique<std::byte[]>(max_bytes);
      std::memcpy(large_.get(), small_, bytes_);
    }
    // Tests the size instead of the pointer, so that compilers see that `small_` never overflows.
    if (at + size > inline_bytes) {
      std::memcpy(large_.get() + at, value, size);
    } else if (size != 0) {
      std::memcpy((large_ ? large_.get() : small_) + at, value, size);
    }
    bytes_ = at + size;
  }

  /// Records that an argument is in the memory of `device`. So the launch will run on this device.
  /// @return False if an earlier argument is on another device.
  bool require(device_ordinal device) noexcept {
    if (device_ && *device_ != device) { return false; }
    device_ = device;
    return true;
  }

  detail::runtime_impl* owner_ = nullptr;  // null if the launch was moved from
  std::uint32_t kernel_ = 0;
  std::uint32_t shared_ = 0;
  extent grid_;
  extent block_;
  std::optional<device_ordinal> device_;
  bool records_ranges_ = false;  // whether the runtime checks the order of tasks
  std::span<detail::parameter_info const> parameters_;
  std::size_t bytes_ = 0;
  alignas(16) std::byte small_[inline_bytes];
  std::unique_ptr<std::byte[]> large_;
  // The buffers and spans among the arguments. Empty unless records_ranges_ is true.
  std::vector<detail::argument_range> ranges_;
};

}  // namespace v0_1
}  // namespace flotilla
