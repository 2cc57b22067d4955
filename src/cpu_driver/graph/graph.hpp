// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of a graph: nodes, and edges that order the nodes. A graph belongs to no context
// and cannot run. Its instantiation is an executable graph (graph_exec.hpp), which can run.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/graph/node_params.hpp"

namespace flotilla::cpu_driver {

/// The object behind a node's handle.
struct node_place {
  using handles = handle_table<node_place, CUgraphNode, handle_kind::graph_node>;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  CUgraphNode self;
  CUgraph owner;
  std::uint32_t index;  // unique within a graph, never reused; a clone keeps the indices
};

struct graph_node {
  CUgraphNode self = nullptr;
  std::uint32_t index = 0;
  node_work work;
  std::vector<std::uint32_t> after;  // indices of the nodes that this node depends on
  std::vector<void*> addresses;      // argument addresses, for cuGraphKernelNodeGetParams
};

/// One step of a future executable graph.
struct planned_node {
  CUgraphNode self;
  std::uint32_t index;
  std::vector<std::uint32_t> after;  // positions of the steps that this step depends on, ascending
  node_work work;
};

/// Thread-safe: each member function locks the graph.
class graph {
 public:
  using handles = handle_table<graph, CUgraph, handle_kind::graph>;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  using edge = std::pair<CUgraphNode, CUgraphNode>;  // from, to

  explicit graph(CUgraph self) noexcept : self_(self) {}
  graph(CUgraph self, graph const& original);  // makes a clone
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  [[nodiscard]] CUgraph self() const noexcept { return self_; }
  [[nodiscard]] CUgraph original() const noexcept { return original_; }  // null if not a clone

  /// Returns CUDA_ERROR_INVALID_VALUE if `after` names a node twice or a node of another graph.
  [[nodiscard]] CUresult add(CUgraphNode& made, std::span<CUgraphNode const> after, node_work work);
  [[nodiscard]] CUresult remove(CUgraphNode which);

  /// Adds all edges from[i] -> to[i]. If an edge exists already or is not allowed, adds no edge and
  /// returns CUDA_ERROR_INVALID_VALUE.
  [[nodiscard]] CUresult add_edges(std::span<CUgraphNode const> from,
                                   std::span<CUgraphNode const> to);
  /// Removes all edges from[i] -> to[i]. If an edge does not exist, removes no edge and returns
  /// CUDA_ERROR_INVALID_VALUE.
  [[nodiscard]] CUresult remove_edges(std::span<CUgraphNode const> from,
                                      std::span<CUgraphNode const> to);

  [[nodiscard]] std::vector<CUgraphNode> nodes() const;
  [[nodiscard]] std::vector<CUgraphNode> roots() const;
  [[nodiscard]] std::vector<edge> edges() const;
  [[nodiscard]] std::vector<CUgraphNode> dependencies(std::uint32_t index) const;
  [[nodiscard]] std::vector<CUgraphNode> dependents(std::uint32_t index) const;
  /// Returns the node with this index, or null if the node was removed.
  [[nodiscard]] CUgraphNode node_at(std::uint32_t index) const;

  /// Locks the graph and calls `body(graph_node&)` for the node with this index.
  template <class Body>
  CUresult change(std::uint32_t index, Body&& body) {
    std::lock_guard const lock(mutex_);
    graph_node* const found = at(index);
    return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_VALUE;
  }

  /// Copies all nodes into `steps`, each node after its dependencies. If several nodes could come
  /// next, nodes that wait come last, so that a wait delays as few nodes as possible. If the graph
  /// has a cycle, returns CUDA_ERROR_INVALID_VALUE and sets `offender` to a node of the cycle.
  [[nodiscard]] CUresult plan(std::vector<planned_node>& steps, CUgraphNode& offender) const;

 private:
  // For the following functions, the caller must hold mutex_.
  [[nodiscard]] graph_node* at(std::uint32_t index) const noexcept;
  [[nodiscard]] graph_node* own(CUgraphNode handle) const;
  [[nodiscard]] CUresult own_all(std::span<CUgraphNode const> named,
                                 std::vector<graph_node*>& found) const;

  CUgraph const self_;
  CUgraph const original_ = nullptr;
  std::mutex mutable mutex_;
  // Indexed by graph_node::index. The element of a removed node is null. Guarded by mutex_.
  std::vector<std::unique_ptr<graph_node>> nodes_;
};

}  // namespace flotilla::cpu_driver
