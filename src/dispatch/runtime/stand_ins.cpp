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
constexpr std::chrono::milliseconds watch_interval{1};
// The watcher goes on for this time after the last callable, so that short callables that follow
// one another do not wake it each time.
constexpr std::chrono::milliseconds watch_linger{10};

}  // namespace

stand_ins::stand_ins(worker_environment const& environment, worker_state& state,
                     std::function<void()> wake, std::chrono::microseconds idle_poll_time)
    : environment_(environment),
      state_(state),
      wake_(std::move(wake)),
      idle_poll_time_(idle_poll_time) {}

stand_ins::~stand_ins() { stop(); }

void stand_ins::note_callable() noexcept {
  if (environment_.devices.size() < 2) { return; }  // there is no other device to stall
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
  if (blocked_.load(std::memory_order_relaxed) == 0) { return; }
  std::lock_guard const lock{mutex_};
  provide();
}

int stand_ins::count_callables() noexcept {
  int running = 0, blocked = 0;
  auto const limit = (clock::now() - max_undisturbed).time_since_epoch().count();
  device_set const& devices = environment_.devices;
  for (unsigned i = 0; i < devices.size(); ++i) {
    auto const since = devices[i].callable_since();
    if (since == 0) { continue; }
    ++running;
    if (since <= limit) { ++blocked; }
  }
  blocked_.store(blocked, std::memory_order_relaxed);
  return running;
}

bool stand_ins::is_needed() const noexcept {
  if (environment_.shared.faults.is_poisoned()) { return environment_.continuations.any_due(); }
  return environment_.devices.unattended_work() ||
         (environment_.continuations.needs_worker() &&
          !state_.polling_for_ends.load(std::memory_order_seq_cst));
}

void stand_ins::watch() noexcept {
  std::unique_lock lock{mutex_};
  clock::time_point last_callable = clock::now();
  while (!is_stopping_) {
    if (count_callables() != 0) {
      last_callable = clock::now();
      if (blocked_.load(std::memory_order_relaxed) != 0 && is_needed()) { provide(); }
    } else if (clock::now() - last_callable > watch_linger) {
      watching_.store(false, std::memory_order_seq_cst);
      if (count_callables() == 0) {
        watch_.wait(lock,
                    [this] { return is_stopping_ || watching_.load(std::memory_order_relaxed); });
      }
      watching_.store(true, std::memory_order_seq_cst);
      last_callable = clock::now();
    }
    watch_.wait_for(lock, watch_interval, [this] { return is_stopping_; });
  }
}

void stand_ins::provide() {
  if (is_stopping_) { return; }  // `stop` uses threads_ without the mutex
  int const running = static_cast<int>(threads_.size()) - idle_;
  if (running + called_ >= blocked_.load(std::memory_order_relaxed)) { return; }
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

void stand_ins::stop() noexcept {
  {
    std::lock_guard const lock{mutex_};
    is_stopping_ = true;
  }
  watch_.notify_all();
  serve_.notify_all();
  // No other thread uses these members any more, so they need no mutex.
  if (watcher_.joinable()) { watcher_.join(); }
  for (std::thread& each : threads_) { each.join(); }
  threads_.clear();
}

}  // namespace flotilla::dispatch
