// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/graph/graph_run_pool.hpp"

#include <utility>

#include "cpu_driver/base/wake_all.hpp"

namespace flotilla::cpu_driver {

graph_run& graph_run_pool::take(std::size_t steps) {
  // acquire: pairs with the release in finish()
  if (free_ == nullptr) { free_ = returned_.exchange(nullptr, std::memory_order_acquire); }
  if (free_ != nullptr) {
    graph_run& taken = *free_;
    free_ = std::exchange(taken.next_free_, nullptr);
    return taken;
  }
  runs_.push_back(std::make_unique<graph_run>(*this, steps));
  return *runs_.back();
}

void graph_run_pool::return_unused(graph_run& run) noexcept {
  run.next_free_ = std::exchange(free_, &run);
}

bool graph_run_pool::is_next(std::uint64_t number) noexcept {
  auto const reached = [&] { return finished_.load(std::memory_order_seq_cst) + 1 >= number; };
  if (reached()) { return true; }
  // Sets `watched_`, then reads `finished_` again. finish() increments `finished_`, then reads
  // `watched_`. So either this function sees the new count, or finish() wakes the devices.
  watched_.store(true, std::memory_order_seq_cst);
  return reached();
}

void graph_run_pool::finish(graph_run& run) noexcept {
  graph_run* head = returned_.load(std::memory_order_relaxed);
  do {
    run.next_free_ = head;
    // release: pairs with the acquire in take()
  } while (!returned_.compare_exchange_weak(head, &run, std::memory_order_release,
                                            std::memory_order_relaxed));
  finished_.fetch_add(1, std::memory_order_seq_cst);
  if (watched_.load(std::memory_order_seq_cst)) {
    watched_.store(false, std::memory_order_relaxed);
    wake_all();
  }
}

}  // namespace flotilla::cpu_driver
