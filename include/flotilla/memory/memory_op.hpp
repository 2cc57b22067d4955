// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Descriptions of copies and fills.

#include <cstddef>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {
class device_range;
}

/// Describes a copy or fill. Buffers and spans make such operations. The same operation can be
/// submitted any number of times. The memory must exist until the task has ended, because the task,
/// not `submit`, accesses the memory.
///
/// Threads: same rules as for an `int`.
class memory_op {
 public:
  using kinds = memory_op_kind;

  [[nodiscard]] kinds kind() const noexcept { return command_.kind; }
  /// Returns the number of bytes to copy or fill.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return command_.bytes; }
  /// Returns the device that runs the operation. For a copy between devices, this is the device of
  /// the destination.
  [[nodiscard]] device_ordinal device() const noexcept { return command_.device; }

 private:
  friend struct detail::access;
  friend class detail::device_range;
  explicit memory_op(detail::memory_command const& command) noexcept : command_{command} {}

  detail::memory_command command_;
};

}  // namespace v0_1
}  // namespace flotilla
