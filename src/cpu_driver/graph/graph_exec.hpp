// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// An executable graph holds the steps of a graph in an order that respects the edges.
//
// Each launch has its own copy of the steps, so a rewrite does not affect launches in flight. A
// launch reuses the copy of a finished launch and updates only the steps that have changed since
// that launch. So, in the steady state, rewrites and launches do not allocate memory.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/graph/graph.hpp"
#include "cpu_driver/graph/graph_run_pool.hpp"

namespace flotilla::cpu_driver {

class stream;

/// The handle and each launch in flight share the ownership of this object. Thread-safe.
class executable_graph {
 public:
  executable_graph(CUgraph source, unsigned long long flags, std::vector<planned_node> steps);
  executable_graph(executable_graph const&) = delete;
  executable_graph& operator=(executable_graph const&) = delete;

  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

  /// Calls `body(work)` to change the parameters of a node for later launches. Returns
  /// CUDA_ERROR_INVALID_VALUE if the node is not a node of this graph or does not hold a `Work`. If
  /// `body` returns an error, it must leave `work` unchanged.
  template <class Work, class Body>
  CUresult rewrite(CUgraphNode node, Body&& body) {
    std::size_t position = 0;
    if (!find(node, position)) { return CUDA_ERROR_INVALID_VALUE; }
    std::lock_guard const lock(mutex_);
    auto* const work = std::get_if<Work>(&steps_[position].work);
    if (work == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    CUresult const status = body(*work);
    if (status == CUDA_SUCCESS) { changed(position); }
    return status;
  }

  [[nodiscard]] CUresult enable(CUgraphNode node, bool enabled);
  [[nodiscard]] CUresult is_enabled(CUgraphNode node, bool& enabled) const;

  /// Takes over the parameters of a graph with the same topology. If the topology differs, changes
  /// nothing and returns CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE.
  [[nodiscard]] CUresult update(graph const& from, CUgraphExecUpdateResultInfo& result);

  /// Enqueues one launch with the current parameters. `self` must point to this object.
  [[nodiscard]] CUresult launch(std::shared_ptr<executable_graph> const& self, stream& target);

 private:
  [[nodiscard]] bool find(CUgraphNode node, std::size_t& position) const;
  void changed(std::size_t position) noexcept;  // the caller must hold mutex_

  CUgraph const source_;
  unsigned long long const flags_;
  std::vector<std::uint32_t> position_of_;  // maps the index of a node to its step
  std::vector<CUcontext> contexts_;         // distinct contexts of all kernels; constant

  std::mutex mutable mutex_;
  // mutex_ guards all following members.
  std::vector<graph_step> steps_;
  std::vector<std::uint64_t> versions_;  // version of each step; grows when the step changes
  std::uint64_t version_ = 1;            // the largest version
  std::uint64_t launches_ = 0;
  graph_run_pool runs_;
};

/// The object behind a CUgraphExec handle.
class graph_exec {
 public:
  using handles = handle_table<graph_exec, CUgraphExec, handle_kind::graph_exec>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  graph_exec(CUgraphExec self, std::shared_ptr<executable_graph> its_graph) noexcept
      : self_(self), graph_(std::move(its_graph)) {}
  [[nodiscard]] CUgraphExec self() const noexcept { return self_; }
  [[nodiscard]] std::shared_ptr<executable_graph> const& graph() const noexcept { return graph_; }

 private:
  CUgraphExec const self_;
  std::shared_ptr<executable_graph> const graph_;
};

}  // namespace flotilla::cpu_driver
