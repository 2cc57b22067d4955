// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/order_records.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

namespace flotilla::dispatch {

static_assert(lane::max_tasks * (detail::twin_record_stride(slot::inline_bytes) +
                                 sizeof(detail::twin_order)) +
                      grid_records::max_blocks * sizeof(std::uint32_t) +
                      grid_order::max_edges * sizeof(detail::twin_edge) +
                      sizeof(order_words::words::waves) + 5 * alignof(std::max_align_t) <=
                  grid_records::piece_bytes,
              "the records of every grid fit into one piece");

detail::ordered_twin_parameters order_records::write(ordered_part const& own,
                                                     ordered_parts const& others,
                                                     std::uint32_t flags) {
  using detail::twin_edge, detail::twin_order;
  grid_order const& order = *own.order;
  std::span<grid_order::node const> const nodes = order.nodes();
  std::span<grid_order::edge const> const edges = order.edges();
  grid_records::area const orders_at = records_.add(nodes.size() * sizeof(twin_order));
  orders_ = {reinterpret_cast<twin_order*>(orders_at.host), nodes.size()};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    new (&orders_[i]) twin_order{nodes[i].first_edge, nodes[i].edges, nodes[i].wave, flags};
  }
  grid_records::area const edges_at = records_.add(edges.size() * sizeof(twin_edge));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    bool const elsewhere = edges[i].device != order.device();
    ordered_part const& of = !elsewhere        ? own
                             : edges[i].before ? others.before[edges[i].device]
                                               : others.together[edges[i].device];
    std::uint32_t const position = edges[i].position;
    twin_edge const one{of.words->address(position), of.order->nodes()[position].ended,
                        elsewhere ? 1u : 0u};
    std::memcpy(edges_at.host + i * sizeof one, &one, sizeof one);
  }
  auto ends = own.words->waves;
  count_waves(order, ends);
  grid_records::area const ends_at = records_.add(sizeof ends);
  std::memcpy(ends_at.host, ends.data(), sizeof ends);
  detail::ordered_twin_parameters made{};
  made.orders = orders_at.device;
  made.edges = edges_at.device;
  made.wave_ends = ends_at.device;
  made.words = own.words->memory;
  made.first_ticket = own.words->next_ticket;
  made.numbered_waves = order.waves() - 1;
  return made;
}

void order_records::decide(std::uint32_t flags) const noexcept {
  for (detail::twin_order& each : orders_) {
    // release: pairs with the acquire of the blocks
    std::atomic_ref{each.flags}.store(flags, std::memory_order_release);
  }
}

void order_records::commit(ordered_part const& own) const noexcept {
  grid_order const& order = *own.order;
  count_waves(order, own.words->waves);
  for (std::size_t i = 0; i < order.tasks().size(); ++i) {
    own.words->launches[i] = order.nodes()[i].ended;
    own.words->next_ticket += blocks(order.tasks()[i]);
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
