#pragma once
// An executable graph: the steps of a graph in an order that respects its edges. They can be
// rewritten and launched. Each launch reuses the copy of an earlier launch and updates the steps
// that have changed, so rewriting never touches a launch in flight, and nothing is allocated in the
// steady state.

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

/// Owned by its handle and its launches in flight together. Threads: any.
class executable_graph {
 public:
  executable_graph(CUgraph source, unsigned long long flags, std::vector<planned_node> steps);
  executable_graph(executable_graph const&) = delete;
  executable_graph& operator=(executable_graph const&) = delete;

  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

  /// Calls `body(work)` on the node's own `Work`, for later launches. CUDA_ERROR_INVALID_VALUE for
  /// a node of another graph or kind. If `body` does not return CUDA_SUCCESS it has changed
  /// nothing.
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

  /// Takes over the parameters of a graph of the same shape. Changes nothing if the shape differs.
  [[nodiscard]] CUresult update(graph const& from, CUgraphExecUpdateResultInfo& result);

  /// Enqueues one launch with the present parameters. `self` is this object.
  [[nodiscard]] CUresult launch(std::shared_ptr<executable_graph> const& self, stream& target);

 private:
  [[nodiscard]] bool find(CUgraphNode node, std::size_t& position) const;
  void changed(std::size_t position) noexcept;  // with mutex_ held

  CUgraph const source_;
  unsigned long long const flags_;
  std::vector<std::uint32_t> position_of_;  // by index in the graph
  std::vector<CUcontext> contexts_;         // of kernels, each once; never change

  std::mutex mutable mutex_;
  std::vector<graph_step> steps_;        // guarded by mutex_, as are those below
  std::vector<std::uint64_t> versions_;  // of each step: moves when it changes
  std::uint64_t version_ = 1;            // moves when any does
  std::uint64_t launches_ = 0;
  graph_run_pool runs_;
};

/// The object that a handle names.
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
