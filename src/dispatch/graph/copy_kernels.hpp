// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that copy and fill. Their parameter is the beginning of a memory_command, so the
// bytes of a task's slot are the arguments of its launch.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <flotilla/detail/memory_command.hpp>

namespace flotilla::dispatch {

/// How the kernels divide the memory among threads. The kernels access *words*: the largest units
/// of up to 16 bytes that are aligned in the source and in the destination alike. The bytes before
/// the first word and after the last one are accessed one by one. A fill has no source.
namespace copy_kernels {

inline constexpr std::uint32_t threads = 128;  // per block
// Each thread has all its loads in flight at once: a load from the host's memory takes more than a
// microsecond. With 16 bytes in each word, the loads of a block are 16 KiB.
inline constexpr std::uint32_t words_of_thread = 8;
inline constexpr std::uint32_t words_of_block = threads * words_of_thread;
inline constexpr std::uint32_t max_word_bytes = 16;

// The kernels take operations of at most this many words: 64 KiB if the words have 16 bytes. On an
// H200, a kernel that copies 64 KiB takes a third of the time that the driver needs for one copy
// at a time, and uses the bus as well as a copy engine does. Above, the copy engines are as fast,
// and leave the multiprocessors to other kernels. Narrow words use the bus badly, so operations
// with such words must be smaller.
inline constexpr std::uint32_t max_words = 4096;

// The number of lanes on which grids of copies run, besides grids that follow other tasks. Their
// blocks take at most half of a device, so that other kernels find room
// (grid_policy::max_blocks).
inline constexpr std::uint32_t lanes = 4;
// The limits of the number of blocks of a grid of copies. 256 blocks are at most 4 MiB, for which
// the bus of an H200 needs 80 us. Their tasks end together. With fewer than 32, the launch of a
// grid would cost the host more than 100 ns for each copy.
inline constexpr std::uint32_t max_blocks_of_grid = 256;
inline constexpr std::uint32_t min_blocks_of_grid = 32;

/// The number of bytes of a command that each kernel reads.
inline constexpr std::uint32_t copy_argument_bytes = 24;
inline constexpr std::uint32_t fill_argument_bytes = 112;

/// Returns the number of bytes of the words of an operation.
[[nodiscard]] constexpr std::uint32_t word_bytes(detail::memory_command const& what) noexcept {
  if (what.kind == memory_op_kind::fill) { return max_word_bytes; }
  auto const differing = static_cast<std::uint32_t>(what.to ^ what.from) | max_word_bytes;
  return differing & (~differing + 1);
}
/// Returns whether the operation is small enough for the kernels.
[[nodiscard]] constexpr bool is_small(detail::memory_command const& what) noexcept {
  return !what.is_pitched && what.bytes != 0 &&
         what.bytes <= std::size_t{max_words} * word_bytes(what);
}
/// Returns the number of blocks of a small operation.
[[nodiscard]] constexpr std::uint32_t blocks(detail::memory_command const& what) noexcept {
  auto const words = static_cast<std::uint32_t>(what.bytes) / word_bytes(what);
  return std::max((words + words_of_block - 1) / words_of_block, 1u);
}

/// Returns how long a grid of operations with so many bytes takes, if they go over the bus.
[[nodiscard]] constexpr float length_ns(std::size_t bytes) noexcept {
  constexpr float latency_ns = 4000;  // of the first load
  constexpr float bytes_per_ns = 50;  // H200
  return latency_ns + static_cast<float>(bytes) / bytes_per_ns;
}

/// The kernels as PTX, without the first lines of a module. Each twin is the text that
/// flotilla_make_twins makes of its kernel (tests/unit/dispatch/graph/copy_kernels_test.cpp).
/// @throws std::bad_alloc
[[nodiscard]] std::string copy_ptx();
[[nodiscard]] std::string copy_twin_ptx();
[[nodiscard]] std::string fill_ptx();
[[nodiscard]] std::string fill_twin_ptx();

}  // namespace copy_kernels
}  // namespace flotilla::dispatch
