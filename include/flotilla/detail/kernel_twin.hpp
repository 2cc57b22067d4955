// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface of a kernel's twin.
///
/// The *twin* of a kernel is a second kernel in the same image. One launch of the twin runs many
/// launches of the kernel: each block finds in a record which launch it belongs to. So one grid
/// carries many tasks, and a task costs a record instead of a graph node.
///
/// `flotilla_add_kernels()` makes the twins for GPUs when it builds an image. The CPU driver makes
/// the twins of a CPU image when it loads the image. Programs do not use this file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The name of a kernel's twin is the name of the kernel and this suffix. The number changes with
/// the interface, so a library ignores twins with another interface.
inline constexpr std::string_view twin_suffix = "__flotilla_twin1";

/// Every twin's name contains this text, whatever its interface.
inline constexpr std::string_view twin_mark = "__flotilla_twin";

/// An image that has a variable with this prefix and the name of a kernel wants no twin of that
/// kernel (see FLOTILLA_NO_TWIN).
inline constexpr std::string_view no_twin_prefix = "flotilla_no_twin_";

/// Describes one launch to the twin. The arguments of the kernel follow the record, in the layout
/// of the kernel's parameter buffer. The address of a record is a multiple of 16.
struct twin_record {
  std::uint32_t first_block;          ///< the first block of the twin's grid that runs this launch
  std::array<std::uint32_t, 3> grid;  ///< gridDim of this launch; each at least 1
};
static_assert(sizeof(twin_record) == 16);

/// The parameters of a twin. The twin's block size and dynamic shared memory are those of the
/// launches. Its grid has as many blocks as all launches together, in the dimension x.
struct twin_parameters {
  std::uint64_t records;      ///< device address of the first record
  std::uint64_t blocks;       ///< device address of the index of each block's record, as uint32_t
  std::uint32_t stride;       ///< bytes from one record to the next; a multiple of 16
  std::uint32_t blocks_each;  ///< blocks of every launch; 0: they differ, and `blocks` is used
};
static_assert(sizeof(twin_parameters) == 24);

/// The parameters as the driver sees them, in order.
inline constexpr std::uint32_t twin_parameter_sizes[] = {8, 8, 4, 4};
inline constexpr std::uint32_t twin_parameter_offsets[] = {
    offsetof(twin_parameters, records), offsetof(twin_parameters, blocks),
    offsetof(twin_parameters, stride), offsetof(twin_parameters, blocks_each)};

/// Returns the stride of records with `argument_bytes` bytes of arguments.
[[nodiscard]] constexpr std::uint32_t twin_record_stride(std::uint32_t argument_bytes) noexcept {
  return static_cast<std::uint32_t>(sizeof(twin_record)) + (argument_bytes + 15) / 16 * 16;
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
