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
#include <flotilla/kernel/launch_shape.hpp>

namespace flotilla {
inline namespace v0_1 {

class untyped_launch;

namespace detail {

struct launch_builder;

/// A kernel of a runtime.
struct kernel_ref {
  runtime_impl* owner = nullptr;
  std::uint32_t index = 0;
  bool records_ranges = false;  // whether the runtime makes checks, which need the buffers' sizes
  bool has_clusters = false;    // whether its source sets the size of clusters
};

}  // namespace detail

/// Describes a kernel launch: the kernel, the grid, the block, and a copy of the arguments.
/// `kernel::over` and `kernel::with_shape` make launches. The same launch can be submitted any
/// number of times.
///
/// Threads: same rules as for an `int`. Cost: no driver call. A launch with more than 128 bytes of
/// arguments allocates 4 KiB, and one with more than 4096 bytes allocates 32 KiB.
class launch {
 public:
  static constexpr std::size_t inline_bytes = 128;
  /// The maximum size of all arguments together: the driver's limit since CUDA 12.1. GPUs before
  /// compute capability 7.0 and older drivers refuse more than 4096 bytes.
  static constexpr std::size_t max_bytes = 32764;
  /// Returns how many bytes to allocate for so many bytes of arguments.
  [[nodiscard]] static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    constexpr std::size_t usual = 4096;
    return bytes <= usual ? usual : max_bytes;
  }

  /// A moved-from launch can only be assigned to or destroyed. Submitting it throws
  /// invalid_argument.
  launch(launch&& other) noexcept { *this = std::move(other); }
  launch& operator=(launch&& other) noexcept {
    if (this == &other) { return *this; }
    copy_shape(other);
    bytes_ = std::exchange(other.bytes_, 0);
    large_ = std::move(other.large_);
    large_bytes_ = std::exchange(other.large_bytes_, std::uint16_t{0});
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
    large_bytes_ = 0;
    ranges_ = other.ranges_;
    append(other.arguments(), other.bytes_, 1);
    return *this;
  }

  [[nodiscard]] extent grid() const noexcept { return shape_.grid; }
  [[nodiscard]] extent block() const noexcept { return shape_.block; }
  [[nodiscard]] std::uint32_t dynamic_shared_bytes() const noexcept {
    return shape_.dynamic_shared_bytes;
  }
  [[nodiscard]] launch_attributes const& attributes() const noexcept { return shape_.attributes; }
  /// Returns the bytes of the arguments. The offset of each argument is a multiple of its
  /// alignment.
  [[nodiscard]] void const* arguments() const noexcept { return large_ ? large_.get() : small_; }
  [[nodiscard]] std::size_t argument_bytes() const noexcept { return bytes_; }
  /// Returns the device of the first buffer or span among the arguments, or empty if there is none.
  /// The launch runs on this device unless the task names another one.
  [[nodiscard]] std::optional<device_ordinal> device() const noexcept { return device_; }
  /// Returns whether the kernel has a parameter of type task_status.
  [[nodiscard]] bool has_task_status() const noexcept { return status_offset_ != no_status; }

 private:
  friend struct detail::access;
  friend struct detail::launch_builder;
  friend class untyped_launch;
  launch(detail::kernel_ref const& kernel, launch_shape const& shape,
         std::span<detail::parameter_info const> parameters) noexcept
      : owner_{kernel.owner},
        kernel_{kernel.index},
        shape_{shape},
        records_ranges_{kernel.records_ranges},
        goes_alone_{kernel.has_clusters || shape.attributes.prevent_batch()},
        attributed_{goes_alone_ || shape.attributes.programmatic},
        is_special_{attributed_ || !detail::are_possible(shape.grid, shape.block)},
        parameters_{parameters} {}

  static constexpr std::uint16_t no_status = 0xffff;

  /// Copies everything except the arguments.
  void copy_shape(launch const& other) noexcept {
    owner_ = other.owner_;
    kernel_ = other.kernel_;
    shape_ = other.shape_;
    device_ = other.device_;
    records_ranges_ = other.records_ranges_;
    goes_alone_ = other.goes_alone_;
    attributed_ = other.attributed_;
    is_special_ = other.is_special_;
    parameters_ = other.parameters_;
    status_offset_ = other.status_offset_;
  }

  /// Appends an argument of `size` bytes at the next multiple of `alignment`, a power of two.
  void append(void const* value, std::size_t size, std::size_t alignment) {
    put((bytes_ + alignment - 1) & ~(alignment - 1), value, size);
  }
  /// Appends an argument of `size` bytes at the offset `at`, behind the earlier arguments.
  void put(std::size_t at, void const* value, std::size_t size) {
    if (at + size > inline_bytes && at + size > large_bytes_) { grow(at + size); }
    // Tests the size instead of the pointer, so that compilers see that `small_` never overflows.
    if (at + size > inline_bytes) {
      std::memcpy(large_.get() + at, value, size);
    } else if (size != 0) {
      std::memcpy((large_ ? large_.get() : small_) + at, value, size);
    }
    bytes_ = at + size;
  }

  /// Makes room for `bytes` bytes of arguments, which are more than inline_bytes.
  void grow(std::size_t bytes) {
    std::size_t const room = room_for(bytes);
    auto made = std::make_unique<std::byte[]>(room);
    std::memcpy(made.get(), arguments(), bytes_);
    large_ = std::move(made);
    large_bytes_ = static_cast<std::uint16_t>(room);
  }

  /// Removes all arguments.
  void clear() noexcept {
    bytes_ = 0;
    device_.reset();
    large_.reset();
    large_bytes_ = 0;
    ranges_.clear();
    if (is_special_) { is_special_ = attributed_ || !is_possible(); }
  }
  [[nodiscard]] bool is_possible() const noexcept {
    return detail::are_possible(shape_.grid, shape_.block);
  }

  /// Records a buffer or span among the arguments. The first one determines the device.
  void append_range(detail::argument_range const& range) {
    if (!device_) { device_ = range.device; }
    if (records_ranges_ || range.device != *device_) {
      ranges_.push_back(range);
      is_special_ = true;
    }
  }

  detail::runtime_impl* owner_ = nullptr;  // null if the launch was moved from
  std::uint32_t kernel_ = 0;
  launch_shape shape_;
  std::optional<device_ordinal> device_;
  bool records_ranges_ = false;  // see kernel_ref
  bool goes_alone_ = false;      // whether the launch must not share a batch with other tasks
  bool attributed_ = false;      // whether the launch goes alone, has an attribute or a task_status
  // Whether `submit` must check more than the runtime: the launch is `attributed_`, its extents are
  // impossible, or it has `ranges_`.
  bool is_special_ = false;
  std::uint16_t status_offset_ = no_status;  // offset of the task_status in the arguments
  std::uint16_t large_bytes_ = 0;            // size of large_
  std::span<detail::parameter_info const> parameters_;
  std::size_t bytes_ = 0;
  alignas(16) std::byte small_[inline_bytes];
  std::unique_ptr<std::byte[]> large_;
  // The buffers and spans among the arguments. If records_ranges_ is false, only those that are not
  // on `device_`.
  std::vector<detail::argument_range> ranges_;
};

}  // namespace v0_1
}  // namespace flotilla
