// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/grid_helpers.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <vector>

#include "base/processors.hpp"
#include "base/tbb_bridge.hpp"
#include "cpu_driver/kernel/block.hpp"
#include "cpu_driver/kernel/ordered_twin.hpp"

namespace flotilla::cpu_driver {
namespace {

class grid_helpers {
 public:
  // Never destroyed, because a worker may still use the object when the process ends.
  // @throws std::bad_alloc
  static grid_helpers& of_process() {
    static auto* const only = new grid_helpers;
    return *only;
  }

  // @throws std::bad_alloc  The grid gets no helpers.
  void open(shared_blocks& blocks) {
    std::uint64_t const left = blocks.total - blocks.next.load();
    int to_post = 0;
    {
      std::lock_guard const lock{mutex_};
      open_.push_back(&blocks);
      // At most one job for each worker: oneTBB keeps a posted job until a worker takes the job, so
      // more jobs would only accumulate.
      to_post = static_cast<int>(std::min({left, static_cast<std::uint64_t>(workers_ - posted_),
                                           static_cast<std::uint64_t>(blocks.max_helpers)}));
      posted_ += to_post;
    }
    for (int i = 0; i < to_post; ++i) { post(); }
  }

  // Waits for the helpers that have started. Helpers that start later no longer find `blocks`.
  void close(shared_blocks& blocks) {
    std::unique_lock lock{mutex_};
    std::erase(open_, &blocks);
    helper_left_.wait(lock, [&] { return blocks.helpers == 0; });
  }

 private:
  grid_helpers() : workers_(max_helpers_on_machine()), arena_(workers_) {}

  // Posts a job that `posted_` counts. Without memory, there is one helper less.
  void post() noexcept {
    try {
      arena_.post(job_);
    } catch (std::bad_alloc const&) {
      std::lock_guard const lock{mutex_};
      --posted_;
    }
  }

  // The body of a posted job: helps one grid. If a grid still needs help afterwards, posts the job
  // again instead of looping, because oneTBB may have other tasks for the worker.
  void help() {
    std::unique_lock lock{mutex_};
    if (shared_blocks* const blocks = neediest()) {
      ++blocks->helpers;
      lock.unlock();
      blocks->work();
      lock.lock();
      // Notify while mutex_ is locked: after the unlock, `*blocks` may be destroyed.
      if (--blocks->helpers == 0) { helper_left_.notify_all(); }
    }
    if (neediest() != nullptr) {
      lock.unlock();
      post();
      return;
    }
    --posted_;
  }

  shared_blocks* neediest() const {
    shared_blocks* found = nullptr;
    for (shared_blocks* const b : open_) {
      bool const has_work = b->next.load() < b->total && b->end.load() == grid_end::completed &&
                            b->helpers < b->max_helpers;
      if (has_work && (found == nullptr || b->helpers < found->helpers)) { found = b; }
    }
    return found;
  }

  std::mutex mutex_;
  std::condition_variable helper_left_;
  std::vector<shared_blocks*> open_;  // guarded by mutex_
  int posted_ = 0;                    // jobs that have not ended; guarded by mutex_
  int const workers_;
  base::posted_job job_{[](void* self) { static_cast<grid_helpers*>(self)->help(); }, this, {}};
  base::worker_arena arena_;
};

/// Returns the index of the block with this number.
cpu::index3 block_index_of(std::uint64_t number, cpu::index3 grid_size) {
  auto const x = static_cast<std::uint32_t>(number % grid_size.x);
  number /= grid_size.x;
  return {x, static_cast<std::uint32_t>(number % grid_size.y),
          static_cast<std::uint32_t>(number / grid_size.y)};
}

}  // namespace

grid_end run_block(block_runner& runner, grid const& what, std::uint64_t n, std::uint64_t total,
                   std::atomic<grid_end> const& end) {
  if (what.ordered) {
    auto const ticket = static_cast<std::uint32_t>(n);
    switch (wait_for_launches(what.arguments, ticket, end)) {
      case block_go::run: break;
      case block_go::skip: note_block_ended(what.arguments, ticket); return grid_end::completed;
      case block_go::stop: return grid_end::trapped;
    }
  }
  std::uint64_t const block = what.nth_block(n, total);
  return runner.run(block_index_of(block, what.grid_size), what.multiprocessor_of(block));
}

int max_helpers_on_machine() {
  static int const count = std::max(static_cast<int>(base::usable_processors()) - 1, 0);
  return count;
}

void shared_blocks::work() {
  block_runner* const runner = block_runner::of_this_thread();
  if (runner == nullptr || !runner->begin(what)) {
    end = grid_end::trapped;
    return;
  }
  for (;;) {
    // relaxed: the counter only assigns block numbers to threads. The mutex of grid_helpers makes
    // the writes of the blocks visible to the thread that waits in close().
    std::uint64_t const first = next.fetch_add(at_a_time, std::memory_order_relaxed);
    if (first >= total) { return; }
    std::uint64_t const last = std::min(first + at_a_time, total);
    for (std::uint64_t number = first; number < last; ++number) {
      // relaxed: if this thread sees a failure late, it only runs a few more blocks.
      if (end.load(std::memory_order_relaxed) != grid_end::completed) { return; }
      grid_end const how = run_block(*runner, what, number, total, end);
      if (how != grid_end::completed) {
        auto none = grid_end::completed;
        end.compare_exchange_strong(none, how);  // keeps the first failure
        return;
      }
    }
  }
}

void work_with_helpers(shared_blocks& blocks) {
  grid_helpers* helpers = nullptr;
  try {
    grid_helpers::of_process().open(blocks);
    helpers = &grid_helpers::of_process();
  } catch (std::bad_alloc const&) {}  // without host memory, this thread runs all blocks
  blocks.work();
  if (helpers != nullptr) { helpers->close(blocks); }
}

}  // namespace flotilla::cpu_driver
