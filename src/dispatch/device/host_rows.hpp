// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of an array in host memory that are not adjacent.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <flotilla/detail/memory_command.hpp>

#include "base/host_access.hpp"

namespace flotilla::dispatch {

/// Planes of `height` rows of `width` bytes. Offsets count only bytes in rows, as if the rows were
/// adjacent.
struct host_rows {
  std::byte* first = nullptr;
  std::size_t width = 0;
  std::size_t height = 0;
  detail::memory_pitch pitch{};

  /// Copies `bytes` bytes that begin at `offset` to `to`.
  void copy_to(std::byte* to, std::size_t offset, std::size_t bytes) const noexcept {
    for_each_run(offset, bytes, [&](std::byte const* at, std::size_t size) {
      std::memcpy(to, at, size);
      to += size;
    });
  }
  /// Copies `bytes` bytes from `from` to the bytes that begin at `offset`.
  void copy_from(std::byte const* from, std::size_t offset, std::size_t bytes) const noexcept {
    for_each_run(offset, bytes, [&](std::byte* at, std::size_t size) {
      std::memcpy(at, from, size);
      from += size;
    });
  }

  /// Calls visit(address, size) for each run of adjacent bytes.
  template <class Visit>
  void for_each_run(std::size_t offset, std::size_t bytes, Visit const& visit) const noexcept {
    std::size_t row = offset / width;
    std::size_t column = offset % width;
    while (bytes != 0) {
      std::size_t const size = std::min(bytes, width - column);
      visit(first + row / height * pitch.plane + row % height * pitch.row + column, size);
      bytes -= size;
      column = 0;
      ++row;
    }
  }
};

/// Which side of a copy consists of rows that are not adjacent.
enum class rows_side { none, from, to };
/// The rows of one side of a copy.
struct row_part {
  rows_side side = rows_side::none;
  host_rows rows{};
  std::size_t offset = 0;  // of the copy's first byte in the rows
};

/// Returns the host's side of a pitched copy between the host and a device.
[[nodiscard]] inline row_part host_side_of(detail::memory_command const& what,
                                           std::size_t offset) noexcept {
  bool const is_download = what.kind == memory_op_kind::device_to_host;
  detail::copy_box const box = what.box();
  auto* const host = reinterpret_cast<std::byte*>(is_download ? what.to : what.from);
  return {.side = is_download ? rows_side::to : rows_side::from,
          .rows = {host, box.width, box.height, is_download ? box.to : box.from},
          .offset = offset};
}

/// Shows AddressSanitizer a part of the host's side of a copy between the host and a device: the
/// program may have freed this memory too early.
inline void check_host_side(detail::memory_command const& what, std::size_t offset,
                            std::size_t bytes) noexcept {
  if (!base::has_address_sanitizer()) [[likely]] { return; }
  bool const is_download = what.kind == memory_op_kind::device_to_host;
  if (what.is_pitched) {
    host_side_of(what, 0).rows.for_each_run(offset, bytes,
                                            [is_download](std::byte const* at, std::size_t size) {
                                              base::check_host_access(at, size, is_download);
                                            });
  } else {
    auto const host = is_download ? what.to : what.from;
    base::check_host_access(reinterpret_cast<std::byte const*>(host) + offset, bytes, is_download);
  }
}

}  // namespace flotilla::dispatch
