// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface of a kernel's ordered twin.
///
/// The *ordered twin* of a kernel is a twin (flotilla/detail/kernel_twin.hpp) whose launches may
/// depend on earlier launches of the same grid, and on launches of grids of other devices. Each
/// block takes a *ticket* from a counter. The ticket is the number of the block, so a launch of the
/// same grid that a block waits for has begun before. A block waits until all blocks of the
/// launches that its own launch follows have ended, then runs the kernel's code, and then counts
/// itself in the word of its launch. So one grid runs several steps of dependent tasks, and a task
/// need not wait for the slowest task of the step before.
///
/// The launches of a grid form waves. When all launches of a wave and of the waves before it have
/// ended, the last block writes the completion number of the wave.
///
/// Grids of several devices may wait for each other. They are launched one after another, and none
/// of their launches runs before all of these grids are in their streams: if the driver refuses one
/// of them, the launches of the others are skipped.
///
/// Programs do not use this file.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <flotilla/detail/kernel_twin.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The name of a kernel's ordered twin is the name of the kernel and this suffix. It contains
/// `twin_mark`.
inline constexpr std::string_view ordered_twin_suffix = "__flotilla_twin1_ordered";

/// What a launch waits for. There is one for each record, in the same order.
struct twin_order {
  std::uint32_t first_edge;  ///< the index of the launch's first edge
  std::uint32_t edges;       ///< the number of launches that it waits for
  std::uint32_t wave;        ///< below max_waves; at least the wave of each launch before
  std::uint32_t flags;       ///< see below; the host may change it while blocks wait for a decision
  /// Blocks wait until the host removes this flag.
  static constexpr std::uint32_t undecided = 1;
  /// The launch waits for nothing and does not run. Its blocks only count themselves.
  static constexpr std::uint32_t skipped = 2;
  /// Launches of other devices wait for this one.
  static constexpr std::uint32_t awaited_elsewhere = 4;
};
static_assert(sizeof(twin_order) == 16 && offsetof(twin_order, flags) == 12);

/// A launch that another one waits for.
struct twin_edge {
  std::uint64_t word;       ///< device address of its word, on any device that this one can reach
  std::uint32_t ended;      ///< the value of its word when all of its blocks have ended
  std::uint32_t elsewhere;  ///< 1 if it runs on another device, otherwise 0
};
static_assert(sizeof(twin_edge) == 16);

/// The words in the memory of the device with which blocks tell each other how far they are. They
/// only ever grow, modulo 2^32, and are never reset: each grid begins with the values that the grid
/// before has left. Whoever launches the grids knows these values. A word has reached a value if it
/// is less than 2^31 above it: a grid of another device may look when the next grid already uses
/// the word.
struct twin_words {
  static constexpr std::uint32_t max_waves = 32;
  std::uint32_t next_ticket;
  std::uint32_t reserved[31];  ///< so that waiting blocks do not read the line of the tickets
  /// By wave: how many blocks have ended. The end of the wave before counts as one block.
  std::uint32_t waves[max_waves];
  /// By record: how many blocks have ended. There are as many as records.
  std::uint32_t launches[1];
};
inline constexpr std::size_t twin_words_header_bytes = offsetof(twin_words, launches);
static_assert(offsetof(twin_words, next_ticket) == 0 && offsetof(twin_words, waves) == 128 &&
              twin_words_header_bytes == 256);

/// The parameters of an ordered twin.
struct ordered_twin_parameters {
  twin_parameters launches;
  std::uint64_t orders;          ///< device address of the first twin_order
  std::uint64_t edges;           ///< device address of the first twin_edge
  std::uint64_t wave_ends;       ///< device address of the values of `waves` when each has ended
  std::uint64_t words;           ///< device address of the twin_words
  std::uint64_t counter;         ///< device address of the completion number
  std::uint64_t first_number;    ///< the completion number of wave 0
  std::uint32_t first_ticket;    ///< the ticket of block 0
  std::uint32_t numbered_waves;  ///< the first so many waves write their completion number
  /// Device address of a 64-bit word. If the word is not 0, blocks that wait for another device or
  /// for a decision trap.
  std::uint64_t stop;
};
static_assert(sizeof(ordered_twin_parameters) == 88);

/// The parameters as the driver sees them, in order.
inline constexpr std::uint32_t ordered_twin_parameter_sizes[] = {8, 8, 4, 4, 8, 8, 8,
                                                                 8, 8, 8, 4, 4, 8};
inline constexpr std::uint32_t ordered_twin_parameter_offsets[] = {
    offsetof(twin_parameters, records),
    offsetof(twin_parameters, blocks),
    offsetof(twin_parameters, stride),
    offsetof(twin_parameters, blocks_each),
    offsetof(ordered_twin_parameters, orders),
    offsetof(ordered_twin_parameters, edges),
    offsetof(ordered_twin_parameters, wave_ends),
    offsetof(ordered_twin_parameters, words),
    offsetof(ordered_twin_parameters, counter),
    offsetof(ordered_twin_parameters, first_number),
    offsetof(ordered_twin_parameters, first_ticket),
    offsetof(ordered_twin_parameters, numbered_waves),
    offsetof(ordered_twin_parameters, stop)};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
