// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_records.hpp"

#include <cstring>

namespace flotilla::dispatch {

registered_slabs::piece grid_records::take() {
  if (free_.empty()) {
    free_.reserve(made_ + 1);  // so that give_back never allocates
    registered_slabs::piece const made = memory_.take(piece_bytes);
    ++made_;
    return made;
  }
  registered_slabs::piece const found = free_.back();
  free_.pop_back();
  return found;
}

grid_records::written grid_records::write(std::span<slot_address const> tasks,
                                          std::uint32_t argument_bytes) {
  // The prefetch distance in tasks. Other cores have written the slots.
  constexpr std::size_t prefetched = 4;
  registered_slabs::piece const memory = take();
  std::uint32_t const stride = detail::twin_record_stride(argument_bytes);
  std::byte* at = memory.host;
  std::uint32_t blocks = 0;
  std::uint32_t each = 0;  // the blocks of every task so far; 0 if they differ
  for (std::size_t i = 0; i < tasks.size(); ++i, at += stride) {
    if (i + prefetched < tasks.size()) {
      auto const* const next =
          reinterpret_cast<std::byte const*>(&tasks_.at(tasks[i + prefetched]));
      __builtin_prefetch(next + offsetof(slot, grid));
      __builtin_prefetch(next + offsetof(slot, bytes));
    }
    slot const& one = tasks_.at(tasks[i]);
    detail::twin_record const head{blocks, {one.grid[0], one.grid[1], one.grid[2]}};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, one.bytes, argument_bytes);
    std::uint32_t const own = one.grid[0] * one.grid[1] * one.grid[2];
    each = i == 0 || each == own ? own : 0;
    blocks += own;
  }
  written made{memory, {memory.device, memory.device + (at - memory.host), stride, each}, blocks};
  if (each == 0) {
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      slot const& one = tasks_.at(tasks[i]);
      for (std::uint32_t left = one.grid[0] * one.grid[1] * one.grid[2]; left != 0; --left) {
        std::memcpy(at, &i, sizeof i);
        at += sizeof i;
      }
    }
  }
  return made;
}

}  // namespace flotilla::dispatch
