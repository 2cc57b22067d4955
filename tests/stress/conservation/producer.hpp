// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Submits launches, copies and callables to random devices. The predecessors of a task are earlier
// tasks of the same producer or of other producers.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>

#include "cells.hpp"

namespace flotilla::test {

/// The cells of up to four predecessors. The kernel takes this struct as an argument.
struct predecessor_cells {
  std::uint32_t const* cell[4] = {};
};
using run_once = kernel<std::uint32_t*, predecessor_cells, std::uint32_t*>;

/// A task that may become a predecessor.
struct remembered {
  ticket task;
  std::uint32_t const* cell = nullptr;
  cell_place place = 0;
};

/// 64 recent tasks, which all producers share. Thread-safe.
class common_tasks {
 public:
  void put(unsigned index, remembered task) {
    auto replaced = std::make_shared<remembered const>(std::move(task));
    std::lock_guard const lock{mutex_};
    last_[index % last_.size()].swap(replaced);
  }  // `replaced` is destroyed after the lock is released
  /// Returns the task at `index` modulo 64, or null if there is none yet.
  [[nodiscard]] std::shared_ptr<remembered const> get(unsigned index) {
    std::lock_guard const lock{mutex_};
    return last_[index % last_.size()];
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<remembered const>, 64> last_;
};

/// One run of the test: the objects that its producers share, and the results.
struct run {
  runtime& rt;
  run_once kernel;
  cells& counted;
  // In pinned memory: the number of times that a kernel ran before a predecessor.
  std::uint32_t* violations;
  // Whether some tasks are callables. After its first callable, a device uses no device-side waits,
  // so the test runs with and without callables.
  bool callables;
  common_tasks common{};
  std::atomic<std::size_t> checked{0};    // number of predecessors that kernels checked
  std::atomic<std::size_t> attached{0};   // continuations attached
  std::atomic<std::size_t> continued{0};  // number of continuations that ran without an error
  std::atomic<std::size_t> failed{0};     // number of waits that threw an error
};

class producer {
 public:
  producer(run& shared, unsigned seed) : run_{shared}, random_{seed} {}
  /// Submits the tasks [first, last), then waits for up to 64 of the latest tasks.
  void produce(std::size_t first, std::size_t last);

 private:
  struct choice {
    task_options how;
    predecessor_cells predecessors;
    // Keeps the tickets alive until the task is submitted.
    std::array<std::shared_ptr<remembered const>, 4> kept;
  };
  [[nodiscard]] ticket submit(std::size_t id, unsigned device, cell_place place);
  void choose_predecessors(choice& chosen, unsigned device, bool is_kernel);
  void wait(ticket const& task);

  run& run_;
  std::minstd_rand random_;
  std::array<remembered, 64> own_;
  std::size_t checked_ = 0;
};

}  // namespace flotilla::test
