// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/worker_pool.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

#include "base/pause.hpp"
#include "base/processors.hpp"
#include "context/lease.hpp"

namespace flotilla::dispatch {

namespace {

// Each further thread adds less, and takes a processor from the application.
constexpr int max_copy_helpers = 3;
// A copy helper ends if there is nothing to copy for this time, or if a device has had work for
// this time that no thread does. Then oneTBB may have no other thread for a worker.
constexpr std::chrono::microseconds helper_linger{50};

int helper_count(int workers) noexcept {
  int const half = static_cast<int>(base::usable_processors() / 2);
  return workers == 0 ? 0 : std::min(max_copy_helpers, half);
}

}  // namespace

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
    roles role = roles::worker;
    std::list<job>::iterator place{};
  };

  /// Adds a job. @throws std::bad_alloc
  job& add(worker_pool& pool, roles role) {
    std::lock_guard const lock{mutex_};
    if (unused_.empty()) { unused_.emplace_back(); }
    pending_.splice(pending_.end(), unused_, unused_.begin());
    job& added = pending_.back();
    added.state = pool.state_;
    added.pool = &pool;
    added.role = role;
    added.place = std::prev(pending_.end());
    return added;
  }
  /// Removes a job that oneTBB has begun or that could not be posted. Its memory is reused, so
  /// `wake` usually allocates only the task of oneTBB.
  std::tuple<std::shared_ptr<worker_state>, worker_pool*, roles> remove(job& begun) {
    std::lock_guard const lock{mutex_};
    unused_.splice(unused_.begin(), pending_, begun.place);
    return {std::move(begun.state), begun.pool, begun.role};
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
      max_helpers_(helper_count(max)),
      idle_poll_time_(idle_poll_time),
      state_(std::make_shared<worker_state>()),
      stand_ins_(
          environment, *state_, [this] { wake(); }, idle_poll_time) {
  // Even a pool without workers needs this, because callables run inside base::isolated.
  base::initialize_tbb();
  if (max_ == 0) { return; }
  arena_ = std::make_unique<base::worker_arena>(max_);
  if (max_helpers_ != 0) { helper_arena_ = std::make_unique<base::worker_arena>(max_helpers_); }
  bell.connect(
      this, [](void* pool) noexcept { static_cast<worker_pool*>(pool)->wake(); },
      [](void* pool) noexcept { static_cast<worker_pool*>(pool)->wake_to_poll(); },
      [](void* pool) noexcept { static_cast<worker_pool*>(pool)->note_callable(); },
      [](void* pool) noexcept { static_cast<worker_pool*>(pool)->wake_helper(); });
}

worker_pool::~worker_pool() { stop(std::nullopt); }

void worker_pool::wake() noexcept {
  int active = state_->active.load(std::memory_order_seq_cst);
  do {
    if (active >= max_) {
      stand_ins_.ring();
      return;
    }
  } while (!state_->active.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst));
  state_->requested.fetch_add(1, std::memory_order_seq_cst);
  if (post(roles::worker)) {
    stand_ins_.ring();
    return;
  }
  // No worker starts now. Waiting threads drain the devices too, and so does a stand-in.
  state_->requested.fetch_sub(1, std::memory_order_seq_cst);
  state_->active.fetch_sub(1, std::memory_order_seq_cst);
  stand_ins_.watch_for_workers();
}

void worker_pool::wake_helper() noexcept {
  // relaxed: if a helper ends at the same time, the next piece of the copy asks again
  int running = state_->helpers.load(std::memory_order_relaxed);
  do {
    if (running >= max_helpers_) { return; }
  } while (!state_->helpers.compare_exchange_weak(running, running + 1, std::memory_order_relaxed));
  if (!post(roles::copy_helper)) { state_->helpers.fetch_sub(1, std::memory_order_relaxed); }
}

bool worker_pool::post(roles role) noexcept {
  pending_jobs::job* job = nullptr;
  try {
    job = &pending_jobs::all().add(*this, role);
    (role == roles::worker ? arena_ : helper_arena_)->post(job->posted);
    return true;
  } catch (std::bad_alloc const&) {
    if (job != nullptr) { pending_jobs::all().remove(*job); }
    return false;
  }
}

void worker_pool::wake_to_poll() noexcept {
  // seq_cst: the caller has registered a continuation and then reads the flag. A worker clears the
  // flag and then looks for continuations. So at least one of the two threads sees what the other
  // has written.
  if (!state_->polling_for_ends.load(std::memory_order_seq_cst)) { wake(); }
}

void worker_pool::run(void* job) {
  auto const [state, pool, role] =
      pending_jobs::all().remove(*static_cast<pending_jobs::job*>(job));
  {
    std::lock_guard const lock{state->mutex};
    if (state->closed) { return; }
    ++state->running;
  }
  if (role == roles::worker) {
    state->requested.fetch_sub(1, std::memory_order_seq_cst);
    pool->stand_ins_.note_begun();
    pool->run_worker();
  } else {
    pool->run_copy_helper();
  }
  std::lock_guard const lock{state->mutex};
  --state->running;
  state->ended.notify_all();
}

void worker_pool::run_worker() {
  try {
    worker{environment_, *state_, stats_of_this_thread(), [this] { wake(); }, max_, idle_poll_time_}.run();
  } catch (std::bad_alloc const&) { environment_.shared.faults.note_out_of_memory(); }
}

void worker_pool::run_copy_helper() {
  using clock = std::chrono::steady_clock;
  device_set const& devices = environment_.devices;
  auto last_copy = clock::now();
  auto last_attended = last_copy;
  while (true) {
    bool const copied = devices.share_copies();
    auto const now = clock::now();
    if (copied) { last_copy = now; }
    if (!devices.unattended_work()) { last_attended = now; }
    if (now - std::min(last_copy, last_attended) > helper_linger) { break; }
    if (copied) { continue; }
    if (state_->is_closed()) { break; }
    base::pause();
  }
  state_->helpers.fetch_sub(1, std::memory_order_relaxed);
}

worker_stats& worker_pool::stats_of_this_thread() {
  std::uint64_t const me = context::this_thread_token();
  auto const& all = state_->stats;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].thread == me) { return all[i]; }
  }
  return all[state_->stats.add([me](worker_stats& stats) { stats.thread = me; })];
}

void worker_pool::stop(std::optional<std::chrono::steady_clock::time_point> until) noexcept {
  {
    std::lock_guard const lock{state_->mutex};
    state_->closed = true;
  }
  stand_ins_.stop(until);
  std::unique_lock lock{state_->mutex};
  auto const has_ended = [this] { return state_->running == 0; };
  if (until) {
    state_->ended.wait_until(lock, *until, has_ended);
  } else {
    state_->ended.wait(lock, has_ended);
  }
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
