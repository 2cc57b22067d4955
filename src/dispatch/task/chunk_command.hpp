// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the slot of a chunk holds.

#include <cstdint>
#include <type_traits>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Describes a chunk: items of a bulk that follow each other and are one task. They are launches of
/// the kernel in the slot, with the block and the shared memory in the slot. Their grids and
/// arguments are in records (flotilla/detail/kernel_twin.hpp), which lie in a piece of the
/// chunk_memory of the slot's place. slot_side has the index of the first item.
struct chunk_command {
  std::uint32_t piece;
  std::uint32_t count;   // number of items
  std::uint32_t blocks;  // number of blocks of all items
  // The number of blocks of every item. 0: they differ, and the index of each block's item, as
  // uint32_t, follows the records.
  std::uint32_t blocks_each;
  std::uint32_t stride;  // bytes from one record to the next
};
static_assert(sizeof(chunk_command) <= slot::inline_bytes &&
              std::is_trivially_copyable_v<chunk_command>);

/// Returns how many items of a bulk the task is.
[[nodiscard]] inline std::uint32_t items_of(slot& task) noexcept {
  return task.kind == task_kind::chunk ? held_in<chunk_command>(task).count : 1;
}

}  // namespace flotilla::dispatch
