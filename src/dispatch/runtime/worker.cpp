// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/worker.hpp"

#include <thread>
#include <utility>

#include "base/pause.hpp"
#include "base/single_writer.hpp"

namespace flotilla::dispatch {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int polls_left_to_waiter = 32;  // this takes one or two microseconds
constexpr milliseconds max_yield_time{1};
constexpr microseconds sleep_after_yields{20};

}  // namespace

worker::worker(worker_environment const& environment, worker_state& state, worker_stats& stats,
               std::function<void()> wake, int max, microseconds idle_poll_time)
    : environment_(environment),
      state_(state),
      stats_(stats),
      wake_(std::move(wake)),
      max_(max),
      idle_poll_time_(idle_poll_time),
      home_(environment.homes),
      next_device_(static_cast<unsigned>(stats.thread % environment.devices.size())),
      last_work_(clock::now()),
      next_health_poll_(last_work_ + fault_monitor::poll_interval) {}

worker::~worker() {
  set_polling(false);
  stop_polling_for_ends();
}

void worker::set_polling(bool polling) noexcept {
  if (polling == is_polling_) { return; }
  is_polling_ = polling;
  environment_.shared.bell.polling_workers.fetch_add(polling ? 1 : -1, std::memory_order_relaxed);
}

void worker::stop_polling_for_ends() {
  if (!std::exchange(polls_for_ends_, false)) { return; }
  state_.polling_for_ends.store(false, std::memory_order_seq_cst);
  if (environment_.continuations.needs_worker()) { wake_(); }
}

void worker::run() {
  while (true) {
    bool moved = drain_devices();
    moved = tend_continuations() || moved;
    moved = moved || environment_.devices.share_copies();
    moved = environment_.shared.polled.poll() || moved;
    if (moved) {
      last_work_ = clock::now();
      idle_rounds_ = 0;
      continue;
    }
    bool const waits_for_devices = saw_work_ && !environment_.shared.faults.is_poisoned();
    if (waits_for_devices || polls_for_ends_) {
      if (waits_for_devices) {
        wait_for_devices();
      } else {
        set_polling(true);
        // No thread waits for this worker. So `automatic` means yield here, and the worker spins
        // only if the policy of a busy device is explicitly spin.
        environment_.policies.idle(environment_.policies.of_busy_worker(), ++idle_rounds_);
      }
      if (state_.is_closed()) { return; }
      continue;
    }
    if (poll_idle()) { continue; }
    if (!stay_after_all()) { return; }
    last_work_ = clock::now();
  }
}

bool worker::drain_devices() {
  device_set const& devices = environment_.devices;
  bool moved = false;
  saw_work_ = false;
  for (unsigned i = 0; i < devices.size(); ++i) {
    device_driver& device = devices[(next_device_ + i) % devices.size()];
    device_inbound& inbound = device.inbound();
    if (!inbound.needs_drain() && !environment_.shared.shared.is_pending()) { continue; }
    if (inbound.expects_waiter() && !leave_to_waiter(inbound)) { continue; }
    saw_work_ = true;
    set_polling(false);
    if (!home_.visit(device.index())) { continue; }
    stop_polling_for_ends();
    if (devices.drain_if_free(device, helper_filter{})) {
      moved = true;
      base::add(stats_.drains);
      std::uint64_t const bit = std::uint64_t{1} << (device.index() % 64);
      stats_.devices.store(stats_.devices.load(std::memory_order_relaxed) | bit,
                           std::memory_order_relaxed);
    }
    home_.come_back();
  }
  ++next_device_;
  return moved;
}

bool worker::leave_to_waiter(device_inbound& inbound) {
  for (int i = 0; i < polls_left_to_waiter && inbound.expects_waiter(); ++i) { base::pause(); }
  inbound.expect_no_waiter();
  last_work_ = clock::now();  // the device is in use, so continue to poll
  return inbound.needs_drain() || environment_.shared.shared.is_pending();
}

bool worker::tend_continuations() {
  continuation_runner const& continuations = environment_.continuations;
  if (!continuations.needs_worker()) {
    stop_polling_for_ends();
    return false;
  }
  bool moved = false;
  if (continuations.any_due()) {
    set_polling(false);
    stop_polling_for_ends();
    home_.leave();  // an executor of the application may block
    moved = continuations.run();
    home_.come_back();
  }
  polls_for_ends_ =
      polls_for_ends_ || !state_.polling_for_ends.exchange(true, std::memory_order_seq_cst);
  if (polls_for_ends_) {
    moved = environment_.devices.collect_all() || moved;
    // A kernel that has faulted never writes its completion number, so ask for errors.
    if (auto const now = clock::now(); now > next_health_poll_) {
      environment_.shared.faults.poll_health();
      next_health_poll_ = now + fault_monitor::poll_interval;
    }
  }
  return moved;
}

void worker::wait_for_devices() {
  wait_policy const policy = environment_.policies.of_busy_worker();
  if (policy != wait_policy::yield) {
    environment_.policies.idle(policy, ++idle_rounds_);
    return;
  }
  std::this_thread::yield();
  // After 1 ms without progress, poll less often, because no thread waits for this worker.
  if (clock::now() - last_work_ > max_yield_time) {
    std::this_thread::sleep_for(sleep_after_yields);
  }
}

bool worker::poll_idle() {
  // Determine the policy only once, when polling begins.
  if (!is_polling_) { idle_policy_ = environment_.policies.of_idle_worker(); }
  if (!polls_when_idle(idle_policy_) || clock::now() - last_work_ >= idle_poll_time_) {
    return false;
  }
  set_polling(true);
  // Pause only once between two polls. policy_table::idle pauses 16 times, but here that would
  // delay every single task.
  if (idle_policy_ == wait_policy::yield) {
    std::this_thread::yield();
  } else {
    base::pause();
  }
  return true;
}

bool worker::stay_after_all() {
  // A thread that announced work before this decrement counted this worker as active. So that
  // thread may have asked for no other worker. Therefore check for work after the decrement.
  state_.active.fetch_sub(1, std::memory_order_seq_cst);
  // Pairs with the fence in device_inbound::ring.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool const ends_unattended = environment_.continuations.needs_worker() &&
                               !state_.polling_for_ends.load(std::memory_order_seq_cst);
  bool const has_work =
      environment_.devices.work_pending() && !environment_.shared.faults.is_poisoned();
  if (!ends_unattended && !has_work) { return false; }
  int active = state_.active.load(std::memory_order_seq_cst);
  while (active < max_) {
    if (state_.active.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst)) {
      return true;
    }
  }
  return false;  // enough other workers are active, and they check for work
}

}  // namespace flotilla::dispatch
