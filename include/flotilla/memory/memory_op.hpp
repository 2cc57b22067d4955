#pragma once
/// Copies and fills as data.

#include <cstddef>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {
class device_range;
}

/// A copy or fill that is described and not yet submitted. Buffers and spans make it. Submit it as
/// often as you like. The memory that it names must exist until its task has ended: host memory is
/// read and written by the task, not by `submit`.
///
/// Threads: as an int.
class memory_op {
 public:
  using kinds = memory_op_kind;

  [[nodiscard]] kinds kind() const noexcept { return command_.kind; }
  /// The bytes that are copied or filled.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return command_.bytes; }
  /// The device that runs it. A copy between devices runs on the destination's device.
  [[nodiscard]] device_ordinal device() const noexcept { return command_.device; }

 private:
  friend struct detail::access;
  friend class detail::device_range;
  explicit memory_op(detail::memory_command const& command) noexcept : command_{command} {}

  detail::memory_command command_;
};

}  // namespace v0_1
}  // namespace flotilla
