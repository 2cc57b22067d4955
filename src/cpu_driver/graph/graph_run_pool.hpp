#pragma once
// The pool of runs (launches) of one executable graph. A run is reused for a later launch after it
// has ended. The launches of an executable graph run one after the other, in launch order.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_driver/graph/graph_run.hpp"

namespace flotilla::cpu_driver {

class graph_run_pool {
 public:
  // For launching threads. The caller holds the mutex of the executable graph:
  /// Returns a run that is not in use. `steps` is the number of steps of the graph, the same at
  /// each call. Throws std::bad_alloc.
  [[nodiscard]] graph_run& take(std::size_t steps);
  /// Puts an unused run back into the pool.
  void return_unused(graph_run& run) noexcept;

  // For device threads:
  /// Whether all launches before launch `number` have ended. If it returns false, all devices are
  /// woken when a launch ends.
  [[nodiscard]] bool is_next(std::uint64_t number) noexcept;
  /// Puts a run back into the pool after its launch has ended.
  void finish(graph_run& run) noexcept;

 private:
  std::vector<std::unique_ptr<graph_run>> runs_;
  graph_run* free_ = nullptr;

  std::atomic<graph_run*> returned_{nullptr};  // pushed to by device threads, emptied as a whole
  std::atomic<std::uint64_t> finished_{0};     // launches that have ended
  std::atomic<bool> watched_{false};           // a device waits until a launch ends
};

}  // namespace flotilla::cpu_driver
