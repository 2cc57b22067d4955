// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Twins of the kernels of a CPU image (see flotilla/detail/kernel_twin.hpp). A twin runs the
// threads of the kernel itself. Only the indices and arguments that a block sees come from the
// record of the block's launch.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu_driver {

/// A block of one launch, as the kernel sees it.
struct twin_block {
  cpu::index3 grid_size;
  cpu::index3 block_index;
  std::byte* arguments;  // in the layout of the kernel's parameter buffer
};

/// Returns argument `index` of a twin.
template <class T>
[[nodiscard]] T twin_argument(void* const* arguments, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);  // arguments may be unaligned
  return value;
}

/// Returns the index of the record to which block `block` of a twin's grid belongs.
/// @param arguments  the arguments of the twin, see detail::twin_parameters
[[nodiscard]] std::uint32_t find_launch(void* const* arguments, std::uint32_t block) noexcept;

/// Returns what block `block` of a twin's grid runs.
/// @param arguments  the arguments of the twin, see detail::twin_parameters
[[nodiscard]] twin_block find_twin_block(void* const* arguments, std::uint32_t block) noexcept;

/// Stores the addresses of the arguments in `addresses`.
void point_to_arguments(std::byte* arguments, cpu::kernel_record const& kernel,
                        std::vector<void*>& addresses);

}  // namespace flotilla::cpu_driver
