// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of buffers.

#include <algorithm>
#include <cstddef>
#include <span>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// Returns the part of a buffer that starts at `offset` and ends with the buffer.
/// @throws invalid_argument  The offset is not inside the buffer.
template <class Buffer>
[[nodiscard]] auto rest_of(Buffer& buffer, std::size_t offset) {
  return buffer.subspan(offset);
}
/// Returns `bytes` bytes of a buffer that start at `offset`.
/// @throws invalid_argument  The part is not inside the buffer.
template <class Buffer>
[[nodiscard]] auto part_of(Buffer& buffer, std::size_t offset, std::size_t bytes) {
  // The greatest number would mean "until the end".
  return buffer.subspan(offset, std::min(bytes, std::dynamic_extent - 1));
}

/// @throws wrong_runtime  `buffer` belongs to another runtime than `rt`.
inline void check_owner(held_buffer const& buffer, held_runtime const& rt) {
  if (&buffer.owner != &rt) [[unlikely]] {
    throw wrong_runtime("the buffer belongs to another runtime than the task");
  }
}

}  // namespace flotilla::c_api
