// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_records.hpp"

#include <cassert>
#include <cstring>

namespace flotilla::dispatch {

void grid_records::begin() {
  used_ = 0;
  if (free_.empty()) {
    free_.reserve(made_ + 1);  // so that give_back never allocates
    piece_ = memory_.take(piece_bytes);
    ++made_;
    return;
  }
  piece_ = free_.back();
  free_.pop_back();
}

grid_records::written grid_records::write(std::span<slot_address const> tasks,
                                          std::uint32_t argument_bytes) {
  std::uint32_t const stride = detail::twin_record_stride(argument_bytes);
  align();
  CUdeviceptr const records = piece_.device + used_;
  std::byte* at = piece_.host + used_;
  std::uint32_t blocks = 0;
  std::uint32_t each = 0;  // the blocks of every task so far; 0 if they differ
  for (std::size_t i = 0; i < tasks.size(); ++i, at += stride) {
    slot const& one = tasks_.at(tasks[i]);
    detail::twin_record const head{blocks, {one.grid[0], one.grid[1], one.grid[2]}};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, one.bytes, argument_bytes);
    auto const own = static_cast<std::uint32_t>(blocks_of(one));
    each = i == 0 || each == own ? own : 0;
    blocks += own;
  }
  CUdeviceptr const table = piece_.device + static_cast<CUdeviceptr>(at - piece_.host);
  if (each == 0) {
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      for (std::uint64_t left = blocks_of(tasks_.at(tasks[i])); left != 0; --left) {
        std::memcpy(at, &i, sizeof i);
        at += sizeof i;
      }
    }
  }
  used_ = static_cast<std::size_t>(at - piece_.host);
  return {{records, table, stride, each}, blocks};
}

grid_records::area grid_records::add(std::size_t bytes) noexcept {
  align();
  assert(used_ + bytes <= piece_bytes);
  area const found{piece_.host + used_, piece_.device + used_};
  used_ += bytes;
  return found;
}

}  // namespace flotilla::dispatch
