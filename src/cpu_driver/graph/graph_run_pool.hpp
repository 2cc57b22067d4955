// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pool of runs (launches) of one executable graph. After a launch has ended, a later launch
// reuses its run. The launches of an executable graph run one after the other, in launch order.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_driver/graph/graph_run.hpp"

namespace flotilla::cpu_driver {

class graph_run_pool {
 public:
  // Launching threads call the following functions, and must hold the mutex of the executable
  // graph.

  /// Returns a run that is not in use. `steps` is the number of steps of the graph, and must be the
  /// same at each call. Throws std::bad_alloc.
  [[nodiscard]] graph_run& take(std::size_t steps);
  /// Puts an unused run back into the pool.
  void return_unused(graph_run& run) noexcept;

  // Device threads call the following functions.

  /// Whether all launches before launch `number` have ended. If the result is false, the next call
  /// of finish() wakes all devices.
  [[nodiscard]] bool is_next(std::uint64_t number) noexcept;
  /// Puts a run back into the pool after its launch has ended.
  void finish(graph_run& run) noexcept;

 private:
  std::vector<std::unique_ptr<graph_run>> runs_;
  graph_run* free_ = nullptr;

  std::atomic<graph_run*> returned_{nullptr};  // device threads push runs; take() empties the list
  std::atomic<std::uint64_t> finished_{0};     // number of launches that have ended
  std::atomic<bool> watched_{false};           // whether a device waits for the end of a launch
};

}  // namespace flotilla::cpu_driver
