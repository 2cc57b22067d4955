#pragma once
// The definition of a graph: nodes, and edges that order them. It belongs to no context and cannot
// run; executable graphs (graph_exec.hpp) are made from it.

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

/// The object that a node's handle names.
struct node_place {
  using handles = handle_table<node_place, CUgraphNode, handle_kind::graph_node>;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  CUgraphNode self;
  CUgraph owner;
  std::uint32_t index;  // never given twice within a graph; the same in its clones
};

struct graph_node {
  CUgraphNode self = nullptr;
  std::uint32_t index = 0;
  node_work work;
  std::vector<std::uint32_t> after;  // indices of nodes, in the order in which they were added
  std::vector<void*> addresses;      // of arguments, for cuGraphKernelNodeGetParams
};

/// One step of a future executable graph.
struct planned_node {
  CUgraphNode self;
  std::uint32_t index;
  std::vector<std::uint32_t> after;  // steps, ascending
  node_work work;
};

/// Threads: any; each member function is atomic.
class graph {
 public:
  using handles = handle_table<graph, CUgraph, handle_kind::graph>;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  using edge = std::pair<CUgraphNode, CUgraphNode>;  // from, to

  explicit graph(CUgraph self) noexcept : self_(self) {}
  graph(CUgraph self, graph const& original);  // a clone
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  [[nodiscard]] CUgraph self() const noexcept { return self_; }
  [[nodiscard]] CUgraph original() const noexcept { return original_; }  // null if not a clone

  /// CUDA_ERROR_INVALID_VALUE if a dependency is named twice or is not a node of this graph.
  [[nodiscard]] CUresult add(CUgraphNode& made, std::span<CUgraphNode const> after, node_work work);
  [[nodiscard]] CUresult remove(CUgraphNode which);

  /// Adds or removes all edges from[i] -> to[i], or none of them: none may exist before adding, all
  /// must exist before removing.
  [[nodiscard]] CUresult add_edges(std::span<CUgraphNode const> from,
                                   std::span<CUgraphNode const> to);
  [[nodiscard]] CUresult remove_edges(std::span<CUgraphNode const> from,
                                      std::span<CUgraphNode const> to);

  [[nodiscard]] std::vector<CUgraphNode> nodes() const;
  [[nodiscard]] std::vector<CUgraphNode> roots() const;
  [[nodiscard]] std::vector<edge> edges() const;
  [[nodiscard]] std::vector<CUgraphNode> dependencies(std::uint32_t index) const;
  [[nodiscard]] std::vector<CUgraphNode> dependents(std::uint32_t index) const;
  /// The node with that index; null if it was removed.
  [[nodiscard]] CUgraphNode node_at(std::uint32_t index) const;

  /// Calls `body(graph_node&)` with the graph locked.
  template <class Body>
  CUresult change(std::uint32_t index, Body&& body) {
    std::lock_guard const lock(mutex_);
    graph_node* const found = at(index);
    return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_VALUE;
  }

  /// Copies all nodes, each after the nodes that it depends on. Nodes that wait come as late as
  /// that allows, so they do not hold up nodes that could run before them. If there is a cycle,
  /// `offender` is one of its nodes.
  [[nodiscard]] CUresult plan(std::vector<planned_node>& steps, CUgraphNode& offender) const;

 private:
  // With mutex_ held:
  [[nodiscard]] graph_node* at(std::uint32_t index) const noexcept;
  [[nodiscard]] graph_node* own(CUgraphNode handle) const;
  [[nodiscard]] CUresult own_all(std::span<CUgraphNode const> named,
                                 std::vector<graph_node*>& found) const;

  CUgraph const self_;
  CUgraph const original_ = nullptr;
  std::mutex mutable mutex_;
  std::vector<std::unique_ptr<graph_node>> nodes_;  // by index, null if removed; guarded by mutex_
};

}  // namespace flotilla::cpu_driver
