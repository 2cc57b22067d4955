#pragma once
// A thread that submits tasks of every kind to every device, after its own tasks and those of other
// producers.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>

#include "cells.hpp"

namespace flotilla::test {

/// The cells of up to four predecessors, as the kernel takes them.
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

/// Some recent tasks of all producers.
class common_tasks {
 public:
  void put(unsigned index, remembered task) {
    auto replaced = std::make_shared<remembered const>(std::move(task));
    std::lock_guard const lock{mutex_};
    last_[index % last_.size()].swap(replaced);
  }  // `replaced` is destroyed after the lock is released
  /// One of them, or null.
  [[nodiscard]] std::shared_ptr<remembered const> get(unsigned index) {
    std::lock_guard const lock{mutex_};
    return last_[index % last_.size()];
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<remembered const>, 64> last_;
};

/// What the producers of one run share, and its results.
struct run {
  runtime& rt;
  run_once kernel;
  cells& counted;
  std::uint32_t* violations;  // counted by kernels, in pinned memory
  bool callables;             // submit some: a device that ran a callable waits in other ways
  common_tasks common{};
  std::atomic<std::size_t> checked{0};    // predecessors that kernels checked
  std::atomic<std::size_t> attached{0};   // continuations attached
  std::atomic<std::size_t> continued{0};  // continuations that ran without an error
  std::atomic<std::size_t> failed{0};     // tickets with an error
};

class producer {
 public:
  producer(run& shared, unsigned seed) : run_{shared}, random_{seed} {}
  /// Submits the tasks [first, last) and waits for the last of them.
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
