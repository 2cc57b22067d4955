#pragma once
// A graph as it is defined: nodes, and edges that say which has to end before which may start. It
// belongs to no context and runs nothing; executable graphs (graph_exec.hpp) are made from it.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cpu_driver/graph_work.hpp"

namespace flotilla::cpu_driver {

/// What a node's handle leads to.
struct node_place {
  CUgraphNode self;
  CUgraph of;
  std::uint32_t index;  // never given twice within a graph, and the same in its clones
};

struct graph_node {
  CUgraphNode self = nullptr;
  std::uint32_t index = 0;
  node_work work;
  std::vector<std::uint32_t> after;  // indices of nodes, in the order in which they were named
  std::vector<void*> addresses;      // of arguments, for who asked for them
};

/// One step of an executable graph to be.
struct planned_node {
  CUgraphNode self;
  std::uint32_t index;
  std::vector<std::uint32_t> after;  // steps, ascending
  node_work work;
};

/// Threads: any; each member function is one step.
class graph {
 public:
  using edge = std::pair<CUgraphNode, CUgraphNode>;  // from, to

  explicit graph(CUgraph self) noexcept : self_(self) {}
  graph(CUgraph self, graph const& original);  // a clone
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  [[nodiscard]] CUgraph self() const noexcept { return self_; }
  [[nodiscard]] CUgraph original() const noexcept { return original_; }  // null: no clone

  /// CUDA_ERROR_INVALID_VALUE for dependencies that are named twice or are no nodes of this graph.
  [[nodiscard]] CUresult add(CUgraphNode& made, std::span<CUgraphNode const> after, node_work work);
  [[nodiscard]] CUresult remove(CUgraphNode which);

  /// All of the edges from[i] -> to[i] or none. They must not be there yet, or must all be there.
  [[nodiscard]] CUresult add_edges(std::span<CUgraphNode const> from,
                                   std::span<CUgraphNode const> to);
  [[nodiscard]] CUresult remove_edges(std::span<CUgraphNode const> from,
                                      std::span<CUgraphNode const> to);

  [[nodiscard]] std::vector<CUgraphNode> nodes() const;
  [[nodiscard]] std::vector<CUgraphNode> roots() const;
  [[nodiscard]] std::vector<edge> edges() const;
  [[nodiscard]] std::vector<CUgraphNode> dependencies(std::uint32_t index) const;
  [[nodiscard]] std::vector<CUgraphNode> dependents(std::uint32_t index) const;
  /// The node with that index; null where it was removed.
  [[nodiscard]] CUgraphNode node_at(std::uint32_t index) const;

  /// Calls `body(graph_node&)` with the graph locked.
  template <class Body>
  CUresult change(std::uint32_t index, Body&& body) {
    std::lock_guard const lock(mutex_);
    graph_node* const found = at(index);
    return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_VALUE;
  }

  /// Copies of all nodes, each behind those it depends on, and those that wait as late as that
  /// allows, so that they hold up nothing that could go before. Where there is a cycle `offender`
  /// is one of its nodes.
  [[nodiscard]] CUresult plan(std::vector<planned_node>& steps, CUgraphNode& offender) const;

 private:
  // With mutex_ held:
  [[nodiscard]] graph_node* at(std::uint32_t index) const noexcept;
  [[nodiscard]] graph_node* own(CUgraphNode handle) const;
  [[nodiscard]] CUresult own_all(std::span<CUgraphNode const> handles,
                                 std::vector<graph_node*>& found) const;

  CUgraph const self_;
  CUgraph const original_ = nullptr;
  std::mutex mutable mutex_;
  std::vector<std::unique_ptr<graph_node>> nodes_;  // by index, null where removed; by mutex_
};

}  // namespace flotilla::cpu_driver
