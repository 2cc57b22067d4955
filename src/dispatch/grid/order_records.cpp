// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/order_records.hpp"

#include <cstddef>
#include <cstring>

namespace flotilla::dispatch {

static_assert(lane::max_tasks * (detail::twin_record_stride(slot::inline_bytes) +
                                 sizeof(detail::twin_order)) +
                      grid_records::max_blocks * sizeof(std::uint32_t) +
                      grid_order::max_edges * sizeof(detail::twin_edge) +
                      sizeof(order_words::words::waves) + 5 * alignof(std::max_align_t) <=
                  grid_records::piece_bytes,
              "the records of every grid fit into one piece");

detail::ordered_twin_parameters order_records::write(grid_order const& order) {
  using detail::twin_edge, detail::twin_order;
  std::span<grid_order::node const> const nodes = order.nodes();
  std::span<std::uint32_t const> const edges = order.edges();
  grid_records::area const orders_at = records_.add(nodes.size() * sizeof(twin_order));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    twin_order const one{nodes[i].first_edge, nodes[i].edges, nodes[i].wave, 0};
    std::memcpy(orders_at.host + i * sizeof one, &one, sizeof one);
  }
  grid_records::area const edges_at = records_.add(edges.size() * sizeof(twin_edge));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    std::uint32_t const before = edges[i];
    twin_edge const one{before, words_.launches[before] + blocks(order.tasks()[before])};
    std::memcpy(edges_at.host + i * sizeof one, &one, sizeof one);
  }
  auto ends = words_.waves;
  count_waves(order, ends);
  grid_records::area const ends_at = records_.add(sizeof ends);
  std::memcpy(ends_at.host, ends.data(), sizeof ends);
  detail::ordered_twin_parameters made{};
  made.orders = orders_at.device;
  made.edges = edges_at.device;
  made.wave_ends = ends_at.device;
  made.words = words_.memory;
  made.first_ticket = words_.next_ticket;
  made.numbered_waves = order.waves() - 1;
  return made;
}

void order_records::commit(grid_order const& order) noexcept {
  count_waves(order, words_.waves);
  for (std::size_t i = 0; i < order.tasks().size(); ++i) {
    std::uint32_t const own = blocks(order.tasks()[i]);
    words_.launches[i] += own;
    words_.next_ticket += own;
  }
}

void order_records::count_waves(
    grid_order const& order,
    std::array<std::uint32_t, detail::twin_words::max_waves>& waves) const noexcept {
  for (std::uint32_t i = 1; i + 1 < order.waves(); ++i) { ++waves[i]; }
  for (std::size_t i = 0; i < order.tasks().size(); ++i) {
    std::uint32_t const wave = order.nodes()[i].wave;
    if (wave + 1 < order.waves()) { waves[wave] += blocks(order.tasks()[i]); }
  }
}

}  // namespace flotilla::dispatch
