#pragma once
// An executable graph: the steps of a graph in an order that respects its edges, which can be
// rewritten and launched. Each launch takes a copy of what has changed since the copy that it
// reuses was made, so that rewriting never touches a launch in flight and nothing is allocated in
// the steady state.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu_driver/graph.hpp"

namespace flotilla::cpu_driver {

class graph_run;
class stream;

/// Shared by its handle and its launches in flight: whoever is last ends it. Threads: any.
class executable_graph {
 public:
  executable_graph(CUgraph source, unsigned long long flags, std::vector<planned_node> steps);
  ~executable_graph();
  executable_graph(executable_graph const&) = delete;
  executable_graph& operator=(executable_graph const&) = delete;

  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

  /// Calls `body(work)` on the node's own `Work`, for launches to come. CUDA_ERROR_INVALID_VALUE
  /// for a node of another graph or kind. A body that does not answer CUDA_SUCCESS has changed
  /// nothing.
  template <class Work, class Body>
  CUresult rewrite(CUgraphNode which, Body&& body) {
    std::size_t position = 0;
    if (!find(which, position)) { return CUDA_ERROR_INVALID_VALUE; }
    std::lock_guard const lock(mutex_);
    auto* const work = std::get_if<Work>(&steps_[position].work);
    if (work == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    CUresult const status = body(*work);
    if (status == CUDA_SUCCESS) { changed(position); }
    return status;
  }

  [[nodiscard]] CUresult enable(CUgraphNode which, bool enabled);
  [[nodiscard]] CUresult is_enabled(CUgraphNode which, bool& enabled) const;

  /// Takes over the parameters of a graph of the same shape; nothing where it has another.
  [[nodiscard]] CUresult update(graph const& from, CUgraphExecUpdateResultInfo& result);

  /// Enqueues one launch, as the parameters are now. `self` is this object.
  [[nodiscard]] CUresult launch(std::shared_ptr<executable_graph> const& self, stream& where);

 private:
  friend class graph_run;
  struct step {
    bool enabled = true;
    std::vector<std::uint32_t> after;  // steps, ascending
    node_work work;
  };

  [[nodiscard]] bool find(CUgraphNode which, std::size_t& position) const;
  // With mutex_ held:
  void changed(std::size_t position) noexcept;
  [[nodiscard]] graph_run& take_run();
  [[nodiscard]] CUresult fill(graph_run& run, stream const& where);
  void give_unused(graph_run& run) noexcept;
  // By runs, on device threads:
  /// Whether all launches before number `number` have ended; else the devices are nudged when one
  /// has.
  [[nodiscard]] bool turn_of(std::uint64_t number) noexcept;
  /// A launch has ended; its run may be used again.
  void finish(graph_run& run) noexcept;

  CUgraph const source_;
  unsigned long long const flags_;
  std::vector<std::uint32_t> position_of_;  // by index in the graph
  std::vector<CUcontext> contexts_;         // of kernels, each once; rewriting does not change it

  std::mutex mutable mutex_;
  std::vector<step> steps_;               // guarded by mutex_, as are those below
  std::vector<std::uint64_t> versions_;   // of each step: moves when it changes
  std::uint64_t version_ = 1;             // moves when any does
  std::vector<std::unique_ptr<graph_run>> runs_;
  graph_run* free_ = nullptr;
  std::uint64_t launches_ = 0;

  std::atomic<graph_run*> returned_{nullptr};  // pushed to by device threads, emptied as a whole
  std::atomic<std::uint64_t> finished_{0};     // launches that have ended
  std::atomic<bool> watched_{false};           // some device waits for the next end
};

/// What the handle leads to.
class graph_exec {
 public:
  graph_exec(CUgraphExec self, std::shared_ptr<executable_graph> what) noexcept
      : self_(self), what_(std::move(what)) {}
  [[nodiscard]] CUgraphExec self() const noexcept { return self_; }
  [[nodiscard]] std::shared_ptr<executable_graph> const& what() const noexcept { return what_; }

 private:
  CUgraphExec const self_;
  std::shared_ptr<executable_graph> const what_;
};

}  // namespace flotilla::cpu_driver
