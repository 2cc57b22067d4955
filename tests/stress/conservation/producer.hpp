#pragma once
// One of the threads that submit: every kind of task, to every place, behind tasks of its own and of others.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>

#include "cells.hpp"

namespace flotilla::test {

/// Up to four, as the kernel takes them.
struct cells_ahead {
  std::uint32_t const* cell[4] = {};
};
using run_once = kernel<std::uint32_t*, cells_ahead, std::uint32_t*>;

/// A task that others may be put behind.
struct remembered {
  ticket task;
  std::uint32_t const* cell = nullptr;
  cell_place place = 0;
};

/// Some of the last tasks of all producers.
class common_tasks {
 public:
  void put(unsigned which, remembered task) {
    auto made = std::make_shared<remembered const>(std::move(task));
    std::lock_guard const lock{mutex_};
    last_[which % last_.size()].swap(made);
  }  // what was there goes when the lock is gone
  /// One of them, or null.
  [[nodiscard]] std::shared_ptr<remembered const> get(unsigned which) {
    std::lock_guard const lock{mutex_};
    return last_[which % last_.size()];
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<remembered const>, 64> last_;
};

/// What the producers of one run share, and what came of it.
struct run {
  runtime& rt;
  run_once kernel;
  cells& counted;
  std::uint32_t* violations;  // kernels', in pinned memory
  bool callables;             // among the tasks: a device that has had one waits in other ways
  common_tasks common{};
  std::atomic<std::size_t> checked{0};    // predecessors that kernels looked at
  std::atomic<std::size_t> attached{0};   // continuations
  std::atomic<std::size_t> continued{0};  // of these: called, without an error
  std::atomic<std::size_t> failed{0};     // tickets that ended badly
};

class producer {
 public:
  producer(run& of, unsigned seed) : run_{of}, dice_{seed} {}
  /// Submits the tasks [first, last) and waits for the last of them.
  void produce(std::size_t first, std::size_t last);

 private:
  struct choice {
    task_options how;
    cells_ahead ahead;
    // A task_id is good while its ticket lives.
    std::array<std::shared_ptr<remembered const>, 4> kept;
  };
  [[nodiscard]] ticket submit(std::size_t id, unsigned where, cell_place place);
  void put_behind(choice& made, unsigned where, bool is_kernel);
  void wait(ticket const& task);

  run& run_;
  std::minstd_rand dice_;
  std::array<remembered, 64> own_;
  std::size_t checked_ = 0;
};

}  // namespace flotilla::test
