// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/waits.hpp"

#include <algorithm>

#include "base/pause.hpp"
#include "base/process_end.hpp"
#include "dispatch/task/callable_frame.hpp"
#include "dispatch/waiting/wait_predictor.hpp"

namespace flotilla::dispatch {

ticket_wait::ticket_wait(waiter const& waiter, deadlock_detector& deadlocks, task_id id,
                         std::optional<wait_policy> policy, goals goal)
    : waiter_(waiter),
      deadlocks_(deadlocks),
      id_(id),
      policy_(policy),
      goal_(goal),
      inside_callable_(callable_frame::innermost(waiter.with().shared.id) != nullptr),
      age_{.what = "a wait", .begun = {}, .awaited = id.slot} {
  let_worker_launch();
}

void ticket_wait::let_worker_launch() {
  constexpr int max_polls = 64;
  runtime_parts const& shared = waiter_.with().shared;
  if (wait_predictor::of_this_thread().on_wait(shared.id, id_.slot, id_.generation)) { return; }
  for (int i = 0; i < max_polls; ++i) {
    bool const worker_polls = shared.bell.polling_workers.load(std::memory_order_relaxed) != 0;
    if (!worker_polls || waiter_.with().query.was_launched(id_) || done()) { return; }
    base::pause();
  }
}

bool ticket_wait::runs_continuations() const noexcept {
  return waiter_.with().runs_continuations() && !inside_callable_;
}

bool ticket_wait::help(backoff& state) {
  auto const& [shared, devices, policies, query, continuations] = waiter_.with();
  if (shared.bulks.any_open()) [[unlikely]] { shared.bulks.point_to_open_task(id_); }
  if (inside_callable_) {
    deadlocks_.check_wait_for_task(id_);
  } else if (shared.single_threaded && continuations.inside()) {
    deadlocks_.check_wait_in_continuation(id_);
  }
  if (query.was_launched(id_) && !shared.single_threaded) { return false; }
  if (state.should_propagate()) {
    slot_address const root = shared.order.propagate_demand(id_.slot);
    std::uint32_t const device = shared.tasks.at(root).device.load(std::memory_order_relaxed);
    first_device_ = device == 0 ? std::nullopt : std::optional{device - 1};
    count_rounds_behind_itself(root);
  }
  return devices.help(state.filter(), first_device_, [this] { return done(); });
}

void ticket_wait::count_rounds_behind_itself(slot_address root) {
  constexpr unsigned enough = 12;  // about 4 ms: nobody sees an old chain for so long
  bool const is_behind = !inside_callable_ && deadlocks_.waits_for_this_thread(root) && !done();
  rounds_behind_itself_ = is_behind ? rounds_behind_itself_ + 1 : 0;
  if (rounds_behind_itself_ == enough) { deadlock_detector::refuse_wait_for_this_thread(); }
}

void ticket_wait::idle(backoff& state, waiter::deadline until) {
  policy_table const& policies = waiter_.with().policies;
  slot const& task = waiter_.with().shared.tasks.at(id_.slot);
  std::uint32_t const device = task.device.load(std::memory_order_relaxed);
  wait_policy const policy = policies.resolved(policy_.value_or(policies.of_task(device)));
  bool const may_sleep = policy == wait_policy::blocking && goal_ == goals::ended && !until;
  if (may_sleep && waiter_.sleep_until_ended(id_)) { return; }
  policies.idle(policy, state.next_round(), until);
}

bool any_wait::done() noexcept {
  auto const found = std::find_if(ids_.begin(), ids_.end(), [this](task_id const& id) {
    return waiter_.with().query.has_ended(id);
  });
  first_ = static_cast<std::size_t>(found - ids_.begin());
  return found != ids_.end();
}

bool any_wait::help(backoff& state) {
  auto const& [shared, devices, policies, query, continuations] = waiter_.with();
  bool any_open = false;
  bool const propagate = state.should_propagate();
  for (task_id const id : ids_) {
    if (query.was_launched(id)) { continue; }
    any_open = true;
    if (!propagate) { continue; }
    if (shared.bulks.any_open()) [[unlikely]] { shared.bulks.point_to_open_task(id); }
    shared.order.propagate_demand(id.slot);
  }
  if (!any_open && !shared.single_threaded) { return false; }
  return devices.help(state.filter(), std::nullopt, [this] { return done(); });
}

void any_wait::idle(backoff& state, waiter::deadline until) const {
  policy_table const& policies = waiter_.with().policies;
  wait_policies all;
  for (task_id const id : ids_) {
    slot const& task = waiter_.with().shared.tasks.at(id.slot);
    all.add(policies.of_task(task.device.load(std::memory_order_relaxed)));
  }
  policies.idle(all.together(policies.resolved(wait_policy::automatic)), state.next_round(), until);
}

bool idle_wait::done() noexcept {
  runtime_parts const& shared = waiter_.with().shared;
  if (shared.faults.is_poisoned()) {  // see task_query::runs_on_host
    return !shared.on_host.any() || base::this_thread_ends_process();
  }
  // A search reads all slots. So search again only after the task that the last search found has
  // ended.
  if (!open_ || !shared.tasks.is_open_since(*open_, epoch_)) {
    open_ = shared.tasks.find_open_since(epoch_);
  }
  return !open_;
}

bool idle_wait::help(backoff&) const {
  // This wait needs every task to end, so this thread also runs the callables of other threads.
  return waiter_.with().devices.help(helper_filter{}, std::nullopt, [] { return false; });
}

bool idle_wait::sleep() const {
  auto const& [shared, devices, policies, query, continuations] = waiter_.with();
  if (devices.work_pending() || continuations.any_open()) { return false; }
  generation_word const word{shared.tasks.at(*open_).generation.load(std::memory_order_acquire)};
  task_id id;
  id.slot = *open_;
  id.generation = word.generation();
  // The task may be complete already, and only wait for a pass that ends it. In that case, do not
  // block.
  return !query.has_ended(id) && waiter_.sleep_until_ended(id);
}

void idle_wait::idle(backoff& state, waiter::deadline until) const {
  policy_table const& policies = waiter_.with().policies;
  wait_policy const policy = policies.of_busy_devices(policies.resolved(wait_policy::automatic));
  if (policy == wait_policy::blocking && !until && sleep()) { return state.reset(); }
  policies.idle(policy, state.next_round(), until);
}

}  // namespace flotilla::dispatch
