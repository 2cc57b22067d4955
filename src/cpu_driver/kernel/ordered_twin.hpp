// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ordered twins of the kernels of a CPU image (see flotilla/detail/ordered_twin.hpp).

#include <atomic>
#include <cstdint>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

/// Whether the twin `record` is an ordered twin.
[[nodiscard]] bool is_ordered_twin(cpu::kernel_record const& record) noexcept;

/// What a block does after it has waited.
enum class block_go {
  run,
  skip,  // count its end, without running
  stop,  // nothing: another block has failed, or the host has stopped the waits
};

/// Waits until the launches before the launch of block `block` have ended. The threads of a grid
/// take its blocks in order, so their number is their ticket: the blocks that this block waits for
/// have begun, or they are the next ones of another thread, which waits for none of this thread.
/// @param arguments  the arguments of the ordered twin, see detail::ordered_twin_parameters
/// @param end        set by another thread if a block fails. The launches might never end then.
[[nodiscard]] block_go wait_for_launches(void* const* arguments, std::uint32_t block,
                                         std::atomic<grid_end> const& end) noexcept;

/// Tells the blocks that wait for the launch of block `block` that the block has ended. If it is
/// the last one of its wave, writes the completion number of the wave.
void note_block_ended(void* const* arguments, std::uint32_t block) noexcept;

}  // namespace flotilla::cpu_driver
