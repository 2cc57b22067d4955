// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/worker_pool.hpp"

#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "context/lease.hpp"

namespace flotilla::dispatch {

/// The jobs that oneTBB has not begun. Some jobs never begin if the application occupies all
/// threads of oneTBB until the process ends. This list keeps these jobs reachable, so a leak
/// checker does not report them. The list is never destroyed, because a thread of oneTBB may begin
/// a job after the destructors of static objects have run.
class worker_pool::pending_jobs {
 public:
  static pending_jobs& all() {
    static pending_jobs& jobs = *new pending_jobs;
    return jobs;
  }

  struct job {
    base::posted_job posted{&worker_pool::run, this};
    std::shared_ptr<worker_state> state;
    worker_pool* pool = nullptr;
    std::list<job>::iterator place{};
  };

  /// Adds a job. @throws std::bad_alloc
  job& add(worker_pool& pool) {
    std::lock_guard const lock{mutex_};
    if (unused_.empty()) { unused_.emplace_back(); }
    pending_.splice(pending_.end(), unused_, unused_.begin());
    job& added = pending_.back();
    added.state = pool.state_;
    added.pool = &pool;
    added.place = std::prev(pending_.end());
    return added;
  }
  /// Removes a job that oneTBB has begun or that could not be posted. Its memory is reused, so
  /// `wake` usually allocates only the task of oneTBB.
  std::pair<std::shared_ptr<worker_state>, worker_pool*> remove(job& begun) {
    std::lock_guard const lock{mutex_};
    unused_.splice(unused_.begin(), pending_, begun.place);
    return {std::move(begun.state), begun.pool};
  }

 private:
  std::mutex mutex_;
  std::list<job> pending_;
  std::list<job> unused_;
};

worker_pool::worker_pool(worker_environment const& environment, doorbell& bell, int max,
                         std::chrono::microseconds idle_poll_time)
    : environment_(environment),
      max_(max),
      idle_poll_time_(idle_poll_time),
      state_(std::make_shared<worker_state>()),
      stand_ins_(
          environment, *state_, [this] { wake(); }, idle_poll_time) {
  // Even a pool without workers needs this, because callables run inside base::isolated.
  base::initialize_tbb();
  if (max_ == 0) { return; }
  arena_ = std::make_unique<base::worker_arena>(max_);
  bell.connect(
      this, [](void* pool) noexcept { static_cast<worker_pool*>(pool)->wake(); },
      [](void* pool) noexcept { static_cast<worker_pool*>(pool)->wake_to_poll(); },
      [](void* pool) noexcept { static_cast<worker_pool*>(pool)->note_callable(); });
}

worker_pool::~worker_pool() { stop(); }

void worker_pool::wake() noexcept {
  int active = state_->active.load(std::memory_order_seq_cst);
  do {
    if (active >= max_) {
      stand_ins_.ring();
      return;
    }
  } while (!state_->active.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst));
  pending_jobs::job* job = nullptr;
  try {
    job = &pending_jobs::all().add(*this);
    arena_->post(job->posted);
  } catch (std::bad_alloc const&) {
    // There is no memory for a job, so no worker starts now. Waiting threads drain the devices too,
    // and a later call of `wake` asks again.
    if (job != nullptr) { pending_jobs::all().remove(*job); }
    state_->active.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void worker_pool::wake_to_poll() noexcept {
  // seq_cst: the caller has registered a continuation and then reads the flag. A worker clears the
  // flag and then looks for continuations. So at least one of the two threads sees what the other
  // has written.
  if (!state_->polling_for_ends.load(std::memory_order_seq_cst)) { wake(); }
}

void worker_pool::run(void* job) {
  auto const [state, pool] = pending_jobs::all().remove(*static_cast<pending_jobs::job*>(job));
  {
    std::lock_guard const lock{state->mutex};
    if (state->closed) { return; }
    ++state->running;
  }
  try {
    worker{pool->environment_,       *state,     pool->stats_of_this_thread(),
           [pool] { pool->wake(); }, pool->max_, pool->idle_poll_time_}
        .run();
  } catch (std::bad_alloc const&) { pool->environment_.shared.faults.note_out_of_memory(); }
  std::lock_guard const lock{state->mutex};
  --state->running;
  state->ended.notify_all();
}

worker_stats& worker_pool::stats_of_this_thread() {
  std::uint64_t const me = context::this_thread_token();
  auto const& all = state_->stats;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].thread == me) { return all[i]; }
  }
  return all[state_->stats.add([me](worker_stats& stats) { stats.thread = me; })];
}

void worker_pool::stop() noexcept {
  {
    std::lock_guard const lock{state_->mutex};
    state_->closed = true;
  }
  stand_ins_.stop();
  std::unique_lock lock{state_->mutex};
  state_->ended.wait(lock, [this] { return state_->running == 0; });
}

std::vector<worker_counters> worker_pool::counters() const {
  std::vector<worker_counters> counters;
  for (std::size_t i = 0; i < state_->stats.size(); ++i) {
    worker_stats const& stats = state_->stats[i];
    counters.push_back({stats.drains.load(std::memory_order_relaxed),
                        stats.devices.load(std::memory_order_relaxed)});
  }
  return counters;
}

}  // namespace flotilla::dispatch
