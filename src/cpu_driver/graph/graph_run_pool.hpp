#pragma once
// The runs of one executable graph: those that can be launched again, and the order of those in
// flight. The launches of an executable graph run one after the other, in the order of launching.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_driver/graph/graph_run.hpp"

namespace flotilla::cpu_driver {

class graph_run_pool {
 public:
  // One launching thread at a time:
  /// A run with that many steps, the same at each call. Throws std::bad_alloc.
  [[nodiscard]] graph_run& take(std::size_t steps);
  /// Returns a run that was not launched.
  void return_unused(graph_run& run) noexcept;

  // Any device thread:
  /// Whether all launches before number `number` have ended. If not, the devices are woken when one
  /// has ended.
  [[nodiscard]] bool is_next(std::uint64_t number) noexcept;
  /// A launch has ended, so its run can be launched again.
  void finish(graph_run& run) noexcept;

 private:
  std::vector<std::unique_ptr<graph_run>> runs_;
  graph_run* free_ = nullptr;

  std::atomic<graph_run*> returned_{nullptr};  // pushed to by device threads, emptied as a whole
  std::atomic<std::uint64_t> finished_{0};     // launches that have ended
  std::atomic<bool> watched_{false};           // a device waits for the next end
};

}  // namespace flotilla::cpu_driver
