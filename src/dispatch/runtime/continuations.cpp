// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/continuations.hpp"

#include <thread>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>

#include "dispatch/waiting/waits.hpp"

namespace flotilla::dispatch {

namespace {

/// The continuation of a runtime that checks the order of tasks.
struct observing_continuation final : detail::continuation {
  void run(std::exception_ptr why) override {
    for (task_id const& each : tasks) { checks->observed(each); }
    callable->run(std::move(why));
  }
  submit_checks* checks = nullptr;
  std::vector<task_id> tasks;
  std::unique_ptr<detail::continuation> callable;
};

}  // namespace

std::unique_ptr<detail::continuation> continuations::observing(
    std::span<task_id const> tasks, std::unique_ptr<detail::continuation> callable) const {
  if (checks_ == nullptr || !checks_->which().order || tasks.empty()) { return callable; }
  auto made = std::make_unique<observing_continuation>();
  made->checks = checks_;
  made->tasks.assign(tasks.begin(), tasks.end());
  made->callable = std::move(callable);
  return made;
}

void continuations::watch(task_id id, std::shared_ptr<continuation_state> const& state) const {
  auto const& [shared, devices, policies, query, runner] = waiter_.with();
  continuation_table::key const task{id.slot, id.generation};
  table_->watch(task, state);
  std::atomic<std::uint64_t>& generation = shared.tasks.at(id.slot).generation;
  std::uint64_t word = generation.load(std::memory_order_acquire);
  while (true) {
    generation_word const now{word};
    if (now.generation() != id.generation) {  // the task ended before the bit was set
      shared.ends.notify_watchers(task.slot, task.generation, query.error_of(id));
      break;
    }
    // acq_rel: pairs with the exchange in task_end, so that task_end finds the entry in the table
    if (now.watched() || generation.compare_exchange_weak(word, word | generation_word::watched_bit,
                                                          std::memory_order_acq_rel)) {
      break;
    }
  }
  shared.bell.ring_for_continuations();
}

void continuations::after(task_id id, std::unique_ptr<detail::continuation> callable) const {
  usage_.check_process();
  attach(id, observing({&id, 1}, std::move(callable)), false);
}

void continuations::notify(task_id id, std::unique_ptr<detail::continuation> callable) const {
  attach(id, std::move(callable), true);
}

void continuations::attach(task_id id, std::unique_ptr<detail::continuation> callable,
                           bool immediate) const {
  auto const state = std::make_shared<continuation_state>(table_);
  state->callable = std::move(callable);
  state->immediate = immediate;
  // As soon as the task is watched, other threads may drop the ticket and end the runtime. `use`
  // keeps the runtime alive, and `table` keeps the table alive, until this function returns.
  std::shared_ptr<continuation_table> const table = table_;
  continuation_table::use const use{*table};
  if (use.over()) {
    state->error = waiter_.with().query.error_of(id);
    continuation_table::run(state);
  } else {
    watch(id, state);
  }
}

std::shared_ptr<continuation_state> continuations::prepare(
    std::span<task_id const> tasks, std::unique_ptr<detail::continuation> callable,
    bool immediate) const {
  auto const state = std::make_shared<continuation_state>(table_);
  state->callable = immediate ? std::move(callable) : observing(tasks, std::move(callable));
  state->immediate = immediate;
  state->left = tasks.size() + 1;  // one more for `start`
  continuation_table::use const use{*table_};
  for (task_id const id : tasks) { watch(id, state); }
  return state;
}

void continuations::start(std::shared_ptr<continuation_state> const& prepared) const {
  table_->arrived(prepared, nullptr);
  waiter_.with().shared.bell.ring_for_continuations();
}

void continuations::wait_until_idle(slow_waits::wait age) const {
  auto const& [shared, devices, policies, query, runner] = waiter_.with();
  age.begun = slow_waits::clock::now();
  for (unsigned round = 1;; ++round) {
    // A continuation that was running before the wait below may have submitted a task. So
    // everything has ended only if no continuation was running before the wait and none has begun
    // since.
    std::uint64_t const uses = table_->uses();
    bool const at_rest = table_->users() == 0;
    task_number const next = checks_ == nullptr ? 0 : checks_->next();
    idle_wait wait{waiter_, shared.reclaimer.close_epoch(), age};
    waiter_.until(wait);
    if (checks_ != nullptr) { checks_->observed_before(next); }
    bool ran = false;
    while (runner.run()) { ran = true; }
    // A callable or another thread may have submitted a task during the wait.
    bool const is_task_open = !shared.faults.is_poisoned() && shared.any_open();
    if (ran || is_task_open) {
      if (!ran) { std::this_thread::yield(); }
      round = 0;
      continue;
    }
    // Read `uses` last: a continuation that is no longer due because it has begun is counted there
    // (tests/unit/dispatch/ordering/idle_model_test.cpp).
    if (at_rest && !runner.any_open() && table_->uses() == uses) {
      return shared.posted.print_counts();
    }
    shared.long_waits.look_at(age);
    // Another thread runs a continuation. User code may take any time, so sleep between the checks.
    detail::interruptible_waits::check();
    std::this_thread::sleep_for(sleep_time(round));
  }
}

void continuations::end() const noexcept {
  do {
    wait_until_idle({.what = "the end of a runtime", .begun = {}, .is_end = true});
  } while (!table_->end());
}

}  // namespace flotilla::dispatch
