// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory that a runtime allocated. device_buffer and host_buffer add the element type.

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

/// Owns its memory. Movable.
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
    std::swap(runtime_, other.runtime_);
    std::swap(place_, other.place_);
  }
  /// Returns the range of the memory. For host memory, the device of the range is always 0.
  [[nodiscard]] device_range const& range() const noexcept { return range_; }

 private:
  device_range range_;
  std::uint64_t runtime_ = 0;  // number of the runtime
  places place_ = places::device;
};

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
