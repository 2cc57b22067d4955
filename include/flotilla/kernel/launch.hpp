#pragma once
/// A kernel launch as data.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

namespace dispatch {
class core;
}

/// Blocks of a grid, or threads of a block, in three directions. Each at least 1.
struct extent {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr extent() = default;
  constexpr extent(std::uint32_t along_x, std::uint32_t along_y = 1, std::uint32_t along_z = 1)
      : x{along_x}, y{along_y}, z{along_z} {}
};

/// A launch described and not yet submitted: which kernel, how wide, with which arguments (copied). Made
/// by `kernel::over` and `kernel::on`. Submit it as often as wanted.
///
/// Threads: as an int. Cost: no driver call; arguments of more than 128 bytes in all are allocated.
class launch {
 public:
  static constexpr std::size_t inline_bytes = 128;
  static constexpr std::size_t most_bytes = 4096;  ///< of arguments, in all

  launch(dispatch::core& owner, std::uint32_t kernel_index, extent grid, extent block,
         std::uint32_t dynamic_shared_bytes) noexcept
      : owner_{&owner}, kernel_{kernel_index}, shared_{dynamic_shared_bytes}, grid_{grid},
        block_{block} {}
  launch(launch&&) noexcept = default;
  launch& operator=(launch&&) noexcept = default;
  launch(launch const& other) { *this = other; }
  launch& operator=(launch const& other) {
    if (this == &other) { return *this; }
    owner_ = other.owner_;
    kernel_ = other.kernel_;
    shared_ = other.shared_;
    grid_ = other.grid_;
    block_ = other.block_;
    device_ = other.device_;
    bytes_ = 0;
    large_.reset();
    append(other.arguments(), other.bytes_, 1);
    return *this;
  }

  /// Appends an argument of `size` bytes at the next multiple of `alignment` (bytes, a power of two).
  void append(void const* value, std::size_t size, std::size_t alignment) {
    std::size_t const at = (bytes_ + alignment - 1) & ~(alignment - 1);
    if (at + size > inline_bytes && !large_) {
      large_ = std::make_unique<std::byte[]>(most_bytes);
      std::memcpy(large_.get(), small_, bytes_);
    }
    // Asked by size, not by pointer alone, so that compilers see that what is large never goes to `small_`.
    if (at + size > inline_bytes) {
      std::memcpy(large_.get() + at, value, size);
    } else if (size != 0) {
      std::memcpy((large_ ? large_.get() : small_) + at, value, size);
    }
    bytes_ = at + size;
  }

  /// Says that an argument lies on `device`: the launch then goes there. False when an earlier argument
  /// lies elsewhere.
  bool require(device_ordinal device) noexcept {
    if (device_ && *device_ != device) { return false; }
    device_ = device;
    return true;
  }

  [[nodiscard]] dispatch::core* owner() const noexcept { return owner_; }
  [[nodiscard]] std::uint32_t kernel_index() const noexcept { return kernel_; }
  [[nodiscard]] extent grid() const noexcept { return grid_; }
  [[nodiscard]] extent block() const noexcept { return block_; }
  [[nodiscard]] std::uint32_t dynamic_shared_bytes() const noexcept { return shared_; }
  [[nodiscard]] void const* arguments() const noexcept { return large_ ? large_.get() : small_; }
  [[nodiscard]] std::size_t argument_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::optional<device_ordinal> device() const noexcept { return device_; }

 private:
  dispatch::core* owner_;
  std::uint32_t kernel_;
  std::uint32_t shared_;
  extent grid_;
  extent block_;
  std::optional<device_ordinal> device_;
  std::size_t bytes_ = 0;
  alignas(16) std::byte small_[inline_bytes];
  std::unique_ptr<std::byte[]> large_;
};

}  // namespace flotilla
