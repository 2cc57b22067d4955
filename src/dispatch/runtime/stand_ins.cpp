// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/stand_ins.hpp"

#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "base/thread_pin.hpp"
#include "context/lease.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::chrono::milliseconds max_undisturbed{1};  // a callable that runs longer blocks
// oneTBB normally begins a worker within 0.1 ms. If it takes longer because the machine is busy, a
// stand-in does no harm.
constexpr std::chrono::milliseconds max_without_worker{2};
constexpr std::chrono::milliseconds watch_interval{1};
// The watcher goes on for this time after it last had a reason, so that short callables and
// requests that follow one another do not wake it each time.
constexpr std::chrono::milliseconds watch_linger{10};

}  // namespace

stand_ins::stand_ins(worker_environment const& environment, worker_state& state,
                     std::function<void()> wake, std::chrono::microseconds idle_poll_time)
    : environment_(environment),
      state_(state),
      wake_(std::move(wake)),
      idle_poll_time_(idle_poll_time) {}

stand_ins::~stand_ins() { stop(std::nullopt); }

void stand_ins::note_callable() noexcept {
  if (environment_.devices.size() < 2) { return; }  // there is no other device to stall
  watch_for_workers();
}

void stand_ins::watch_for_workers() noexcept {
  if (watching_.load(std::memory_order_seq_cst)) { return; }
  std::lock_guard const lock{mutex_};
  if (is_stopping_) { return; }
  try {
    if (!watcher_.joinable()) {
      watcher_ = base::start_thread([this] { watch(); });
    }
  } catch (std::exception const&) { return; }  // no memory, or the system has no thread for us
  watching_.store(true, std::memory_order_seq_cst);
  watch_.notify_one();
}

void stand_ins::ring() noexcept {
  if (blocked_.load(std::memory_order_relaxed) != 0 ||
      is_starving_.load(std::memory_order_relaxed)) {
    if (max_running() == 0) { return; }  // a stand-in runs, and sees the work before it leaves
    std::lock_guard const lock{mutex_};
    provide();
    return;
  }
  if (state_.requested.load(std::memory_order_seq_cst) != 0) { watch_for_workers(); }
}

void stand_ins::note_begun() noexcept {
  if (is_starving_.load(std::memory_order_relaxed)) {
    is_starving_.store(false, std::memory_order_relaxed);
  }
}

bool stand_ins::look() noexcept {
  int running = 0, blocked = 0;
  auto const now = clock::now();
  auto const limit = (now - max_undisturbed).time_since_epoch().count();
  device_set const& devices = environment_.devices;
  for (unsigned i = 0; i < devices.size(); ++i) {
    auto const since = devices[i].callable_since();
    if (since == 0) { continue; }
    ++running;
    if (since <= limit) { ++blocked; }
  }
  blocked_.store(blocked, std::memory_order_relaxed);
  bool const waits = is_without_worker() && is_needed();
  if (!waits) {
    without_worker_since_ = {};
  } else if (without_worker_since_ == clock::time_point{}) {
    without_worker_since_ = now;
  } else if (now - without_worker_since_ >= max_without_worker) {
    is_starving_.store(true, std::memory_order_relaxed);
  }
  return running != 0 || waits;
}

bool stand_ins::is_without_worker() const noexcept {
  // Stand-ins that run count as active, too.
  return state_.active.load(std::memory_order_seq_cst) -
             state_.requested.load(std::memory_order_seq_cst) <=
         blocked_.load(std::memory_order_relaxed);
}

int stand_ins::max_running() const noexcept {
  bool const one_more = is_starving_.load(std::memory_order_relaxed) && is_without_worker();
  return blocked_.load(std::memory_order_relaxed) + (one_more ? 1 : 0);
}

bool stand_ins::is_needed() const noexcept {
  if (environment_.shared.faults.is_poisoned()) { return environment_.continuations.any_due(); }
  return environment_.devices.unattended_work() ||
         (environment_.continuations.needs_worker() &&
          !state_.polling_for_ends.load(std::memory_order_seq_cst));
}

void stand_ins::watch() noexcept {
  std::unique_lock lock{mutex_};
  clock::time_point last_reason = clock::now();
  while (!is_stopping_) {
    if (look()) {
      last_reason = clock::now();
      if (max_running() != 0 && is_needed()) { provide(); }
    } else if (clock::now() - last_reason > watch_linger) {
      watching_.store(false, std::memory_order_seq_cst);
      if (!look()) {
        watch_.wait(lock,
                    [this] { return is_stopping_ || watching_.load(std::memory_order_relaxed); });
      }
      watching_.store(true, std::memory_order_seq_cst);
      last_reason = clock::now();
    }
    watch_.wait_for(lock, watch_interval, [this] { return is_stopping_; });
  }
}

void stand_ins::provide() {
  if (is_stopping_) { return; }  // `stop` uses threads_ without the mutex
  int const running = static_cast<int>(threads_.size()) - idle_;
  if (running + called_ >= max_running()) { return; }
  if (called_ < idle_) {
    ++called_;
    serve_.notify_one();
    return;
  }
  // If there is no memory, or the system has no thread for us, the watcher tries again.
  try {
    std::list<std::thread> added(1);
    added.front() = base::start_thread([this] { serve(); });
    threads_.splice(threads_.end(), added);
    ++live_;
  } catch (std::exception const&) {}
}

void stand_ins::serve() noexcept {
  std::unique_lock lock{mutex_};
  while (!is_stopping_) {
    lock.unlock();
    run_worker();
    lock.lock();
    ++idle_;
    serve_.wait(lock, [this] { return is_stopping_ || called_ != 0; });
    --idle_;
    if (called_ != 0) { --called_; }
  }
  --live_;
  served_.notify_all();
}

void stand_ins::run_worker() noexcept {
  worker_stats stats;  // not in runtime::worker_counters, which describes the threads of oneTBB
  stats.thread = context::this_thread_token();
  state_.active.fetch_add(1, std::memory_order_seq_cst);
  try {
    // The limit of active workers does not apply: a stand-in that has become inactive and then sees
    // work must go on, because the workers that count as active may all be blocked.
    worker{environment_, state_, stats, wake_, std::numeric_limits<int>::max(), idle_poll_time_}
        .run();
  } catch (std::bad_alloc const&) { environment_.shared.faults.note_out_of_memory(); }
}

void stand_ins::stop(std::optional<clock::time_point> until) noexcept {
  {
    std::lock_guard const lock{mutex_};
    is_stopping_ = true;
  }
  watch_.notify_all();
  serve_.notify_all();
  // No other thread uses these members any more, so they need no mutex.
  if (watcher_.joinable()) { watcher_.join(); }
  if (until) {
    std::unique_lock lock{mutex_};
    if (!served_.wait_until(lock, *until, [this] { return live_ == 0; })) { return; }
  }
  for (std::thread& each : threads_) { each.join(); }
  threads_.clear();
}

}  // namespace flotilla::dispatch
