// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The edges of a graph in which no node has many successors.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dispatch/recording/index_lists.hpp"

namespace flotilla::dispatch {

/// The maximum number of successors of one node, and the maximum number of roots of one graph. Each
/// further parallel chain would cost 128 KiB of device memory. Each further root would cost the
/// launching thread 750 ns if the graph has no entry node.
inline constexpr std::size_t max_side_by_side = 64;

/// The caller adds the nodes in ascending order, and for each node its predecessors, which are
/// smaller. The time for each edge does not depend on the number of edges.
class bounded_edges {
 public:
  /// @param max_nodes  The maximum number of nodes.
  explicit bounded_edges(std::size_t max_nodes) : of_(max_nodes + 1) { pool_.reserve(max_nodes); }

  /// Makes `node` a root, or lets it run after another root if there are max_side_by_side already.
  void add_root(std::uint32_t node) { add(static_cast<std::uint32_t>(of_.size() - 1), node); }

  /// Makes `node` run after `ahead`. If `ahead` already has `max_side_by_side` successors, `node`
  /// runs after one of these successors instead: the one that was added `max_side_by_side`
  /// successors earlier. So `node` still runs after `ahead`, but not directly.
  void add(std::uint32_t ahead, std::uint32_t node) {
    while (true) {
      successors& of = of_[ahead];
      if (of.count != 0 && pool_[of.last].node == node) {
        return;
      }  // it already runs after `ahead`
      append(of, node);
      if (of.count <= max_side_by_side) { break; }
      of.lagging = of.count == max_side_by_side + 1 ? of.first : pool_[of.lagging].next;
      ahead = pool_[of.lagging].node;
    }
    if (ahead != of_.size() - 1) { after_.push(ahead); }
  }

  /// Ends the edges of a node. Call it once for each node.
  void close() { after_.close(); }

  /// Returns the nodes after which each node runs directly.
  [[nodiscard]] index_lists const& after() const noexcept { return after_; }
  [[nodiscard]] index_lists& after() noexcept { return after_; }
  [[nodiscard]] bool is_leaf(std::uint32_t node) const noexcept { return of_[node].count == 0; }

 private:
  struct entry {
    std::uint32_t node, next;  // next: index in pool_
  };
  // The nodes that `add` has ordered after one node, directly or not, as a list in pool_.
  struct successors {
    std::uint32_t count = 0;
    std::uint32_t first = 0, last = 0;
    std::uint32_t lagging = 0;  // the entry `max_side_by_side` entries ahead of the last one
  };
  void append(successors& of, std::uint32_t node) {
    auto const made = static_cast<std::uint32_t>(pool_.size());
    pool_.push_back({node, 0});
    if (of.count++ == 0) {
      of.first = made;
    } else {
      pool_[of.last].next = made;
    }
    of.last = made;
  }

  std::vector<successors> of_;  // by node; the last element holds the roots
  std::vector<entry> pool_;
  index_lists after_;
};

}  // namespace flotilla::dispatch
