#pragma once
/// Memory that a runtime allocated: the untyped part of the buffers.

#include <cstddef>
#include <cstdint>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/device_range.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

namespace detail {

/// Owns its bytes. Movable.
class FLOTILLA_EXPORT allocation {
 public:
  enum class places : std::uint8_t { device, pinned_host };
  allocation() noexcept = default;
  allocation(runtime& owner, places place, device_ordinal device, std::size_t bytes);
  allocation(allocation&& other) noexcept { swap(other); }
  allocation& operator=(allocation&& other) noexcept {
    allocation taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~allocation();
  void swap(allocation& other) noexcept {
    std::swap(range_, other.range_);
    std::swap(place_, other.place_);
  }
  /// A range of host memory has device 0.
  [[nodiscard]] device_range const& range() const noexcept { return range_; }

 private:
  device_range range_;
  places place_ = places::device;
};

/// The size of `count` objects in bytes. If the product overflows, the result is more than any
/// device has, so the driver refuses it.
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count, std::size_t each) noexcept {
  return count > PTRDIFF_MAX / each ? PTRDIFF_MAX : count * each;
}

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
