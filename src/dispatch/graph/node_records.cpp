// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/node_records.hpp"

#include <cstring>

namespace flotilla::dispatch {

node_records::node_records(registered_slabs& memory, std::uint32_t count,
                           std::uint32_t argument_bytes)
    : count_(count),
      argument_bytes_(argument_bytes),
      stride_(node_record::stride_for(argument_bytes)),
      memory_(memory),
      piece_(memory.take(std::size_t{count} * stride_)),
      parameters_{&piece_.device, &count_, &stride_} {}

node_record& node_records::at(std::uint32_t i) noexcept {
  return *reinterpret_cast<node_record*>(piece_.host + std::size_t{i} * stride_);
}

void node_records::attach(std::uint32_t i, CUgraphDeviceNode node) noexcept {
  at(i).node = reinterpret_cast<std::uint64_t>(node);
  at(i).bytes = argument_bytes_;
}

void node_records::put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid,
                       std::byte const* arguments) noexcept {
  node_record& to = at(i);
  to.what = node_record::set_grid | node_record::set_enabled | node_record::enabled |
            (argument_bytes_ != 0 ? node_record::set_arguments : 0);
  to.grid = grid;
  std::memcpy(&to + 1, arguments, argument_bytes_);
}

void node_records::disable(std::uint32_t i) noexcept { at(i).what = node_record::set_enabled; }

}  // namespace flotilla::dispatch
