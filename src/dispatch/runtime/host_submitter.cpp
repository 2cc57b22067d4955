// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/host_submitter.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/submission/task_watches.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/host_task_frame.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns the failure of the first task in `after` that has failed, or null.
[[nodiscard]] std::shared_ptr<failure const> failure_ahead(runtime_parts const& shared,
                                                           slot_address task) {
  slot const& one = shared.tasks.at(task);
  for (std::size_t i = shared.tasks.order_only(task); i < one.dependencies; ++i) {
    task_state ahead = shared.order.look(shared.tasks.dependency(task, i));
    if (ahead.state == task_state::states::failed) { return std::move(ahead.why); }
  }
  return nullptr;
}

[[nodiscard]] std::shared_ptr<failure const> failure_of_all(runtime_parts const& shared) {
  return shared.faults.is_poisoned() ? shared.faults.failure_of_all() : nullptr;
}

/// Returns why a task on the host must not run, or null.
[[nodiscard]] std::shared_ptr<failure const> refusal_of(runtime_parts const& shared,
                                                        slot_address task) {
  if (auto why = failure_ahead(shared, task)) {
    return make_dependency_failure(shared.text.describe(task, "on the host"), std::move(why));
  }
  return failure_of_all(shared);
}

}  // namespace

/// Returns whether all tasks have ended, so that nothing has to watch them.
[[nodiscard]] bool have_ended(runtime_parts const& shared, dependency_list const& tasks) noexcept {
  auto const has_ended = [&](task_id const& each) {
    // acquire: whoever begins the successor sees what the task has done
    generation_word const now{
        shared.tasks.at(each.slot).generation.load(std::memory_order_acquire)};
    return now.generation() != each.generation;
  };
  return std::all_of(tasks.ids().begin(), tasks.ids().end(), has_ended);
}

/// The continuation of a host task.
class host_submitter::call final : public detail::continuation {
 public:
  call(runtime_parts const& shared, slot_address task, std::uint64_t number,
       std::unique_ptr<detail::continuation> what) noexcept
      : shared_(shared), task_(task), number_(number), what_(std::move(what)) {}

  void run(std::exception_ptr) override {
    try {
      std::shared_ptr<failure const> why;
      bool is_mine = true;
      {
        host_task_frame const frame{shared_.id, task_};
        slot& one = shared_.tasks.at(task_);
        shared_.overdue.end_due();  // in single-threaded mode, no other thread looks at the clock
        if (!cancelled_before_launch(one)) {
          why = run_function();
        } else if (take_end(one)) {
          generation_word const word{one.generation.load(std::memory_order_relaxed)};
          why = make_cancellation(text(), word);
        } else {
          is_mine = false;  // another thread has ended the task
        }
        what_.reset();  // the destructor is user code, which belongs to the task
      }
      is_mine ? shared_.ends.end(task_, std::move(why)) : shared_.ends.drop(task_);
    } catch (std::bad_alloc const&) {
      // There is no memory for the failure of the task, so the task cannot end.
      shared_.faults.note_out_of_memory();
    }
    // Only now: on a poisoned runtime, a task without an entry counts as ended.
    shared_.hosts.remove(task_, number_);
  }

 private:
  /// Runs the function, unless it must not run. @return the failure of the task, or null.
  [[nodiscard]] std::shared_ptr<failure const> run_function() {
    std::shared_ptr<failure const> ahead;
    if (what_->takes_errors()) {
      ahead = failure_ahead(shared_, task_);
      if (ahead == nullptr) { ahead = failure_of_all(shared_); }
    } else {
      shared_.hosts.begin(task_);
      if (auto why = refusal_of(shared_, task_)) { return why; }
    }
    if (shared_.trace.active()) [[unlikely]] { shared_.trace.note_begin(task_); }
    try {
      what_->run(ahead == nullptr ? nullptr : ahead->error);
    } catch (...) {
      std::exception_ptr const thrown = std::current_exception();
      bool const is_passed_on = ahead != nullptr && thrown == ahead->error;
      return is_passed_on ? make_failure(thrown, std::move(ahead))
                          : make_failure_of(text(), thrown);
    }
    return nullptr;
  }
  [[nodiscard]] std::string text() const { return shared_.text.describe(task_, "on the host"); }

  runtime_parts const& shared_;
  slot_address const task_;
  std::uint64_t const number_;  // see host_tasks
  std::unique_ptr<detail::continuation> what_;
};

/// The continuation of a pending task.
class host_submitter::start final : public detail::continuation {
 public:
  start(runtime_parts const& shared, std::unique_ptr<pending_task> what) noexcept
      : shared_(shared), what_(std::move(what)) {}

  void run(std::exception_ptr) override {
    if (shared_.trace.active()) [[unlikely]] { shared_.trace.note_begin(what_->task); }
    // It needs no thread for host tasks, so a wait for it is no deadlock.
    shared_.tasks.at(what_->task).parked_on.store(0, std::memory_order_relaxed);
    pending_task& begun = *what_;
    begun.begin(std::move(what_));
  }

 private:
  runtime_parts const& shared_;
  std::unique_ptr<pending_task> what_;
};

void host_submitter::fill(slot_address task, task_options const& options) const {
  host_command constexpr what;
  encode(with_.shared.tasks.at(task), with_.shared.tasks.side(task), what, options, 0,
         with_.shared.reclaimer.epoch());
  with_.shared.tasks.at(task).parked_on.store(slot::parked_as_host, std::memory_order_relaxed);
  if (with_.checks != nullptr) {
    with_.checks->check_order_of_host_task(options, with_.tasks.checked_name(task),
                                           with_.tasks.callables_inside());
  }
}

slot_address host_submitter::take(when_full if_full) const {
  place const& to = with_.places.shared();
  return if_full == when_full::wait ? with_.slots.take_for_host_task()
                                    : with_.slots.take(to, with_.places.inbox_to(to, 0), if_full);
}

void host_submitter::give_back(slot_address task) const noexcept {
  if (with_.checks != nullptr) { with_.checks->withdraw(with_.tasks.checked_name(task)); }
  with_.shared.tasks.pool(task).give_back(task);
}

template <class Options>
void host_submitter::make_open(slot_address address, Options const& options,
                               ticket* ticket) const noexcept {
  slot& task = with_.shared.tasks.at(address);
  if (with_.shared.trace.active()) [[unlikely]] { with_.shared.trace.note_submit(address); }
  std::uint64_t const generation = open_slot(task, address, 0, with_.owner, ticket,
                                             keeps_failure<Options>, keeps_failure<Options>);
  if constexpr (keeps_failure<Options>) {
    options.opened = {with_.owner.number, address, generation};
  }
  if (ticket == nullptr) { with_.shared.posted.expect(); }
  watch(with_.shared.overdue, task, with_.shared.tasks.side(address), address, generation, options);
}

template <class Options, class Make>
bool host_submitter::submit_made(Make const& make, form how, Options const& options,
                                 when_full if_full, ticket* ticket) const {
  with_.usage.check_usable();
  if (options.device) {
    throw invalid_argument("a host task runs on no device, but its options name device " +
                           std::to_string(options.device->value));
  }
  if constexpr (std::is_same_v<Options, task_options>) { validation::check_rank(options); }
  with_.valid.check_predecessors(options.after.ids(), options.after_end.ids());
  std::vector<task_id> ahead;
  std::vector<task_key> keys;
  for (dependency_list const* list : {&options.after_end, &options.after}) {
    for (task_id const& each : list->ids()) {
      ahead.push_back(each);
      keys.push_back({each.slot, static_cast<std::uint32_t>(each.generation)});
    }
  }
  slot_address const task = take(if_full);
  if (task == no_slot) { return false; }
  std::shared_ptr<continuation_state> prepared;
  try {
    fill(task, options);
    std::uint64_t const number = with_.shared.hosts.add(task, std::move(keys), how.runs_always);
    prepared = with_.after.prepare(ahead, make(task, number), how.immediate);
  } catch (...) {
    with_.shared.hosts.remove(task);
    give_back(task);
    throw;
  }
  make_open(task, options, ticket);
  with_.after.start(prepared);
  return true;
}

template <class Options>
bool host_submitter::submit(std::unique_ptr<detail::continuation>& what, Options const& options,
                            when_full if_full, ticket* ticket) const {
  return submit_made(
      [&](slot_address task, std::uint64_t number) {
        return std::make_unique<call>(with_.shared, task, number, std::move(what));
      },
      {.immediate = false, .runs_always = what->takes_errors()}, options, if_full, ticket);
}

bool host_submitter::open(std::unique_ptr<pending_task>& what, flow_task_options const& options,
                          ticket* ticket) const {
  if (have_ended(with_.shared, options.after_end) && have_ended(with_.shared, options.after)) {
    return begin_now(what, options, ticket);
  }
  return submit_made(
      [&](slot_address task, std::uint64_t) {
        what->task = task;
        return std::make_unique<start>(with_.shared, std::move(what));
      },
      {.immediate = true, .runs_always = false}, options, when_full::give_up, ticket);
}

bool host_submitter::begin_now(std::unique_ptr<pending_task>& what,
                               flow_task_options const& options, ticket* ticket) const {
  with_.usage.check_usable();
  slot_address const task = take(when_full::give_up);
  if (task == no_slot) { return false; }
  try {
    fill(task, options);
  } catch (...) {
    give_back(task);
    throw;
  }
  make_open(task, options, ticket);
  what->task = task;
  start{with_.shared, std::move(what)}.run(nullptr);
  return true;
}

std::shared_ptr<failure const> host_submitter::refusal(pending_task const& of) const {
  return refusal_of(with_.shared, of.task);
}

void host_submitter::end(pending_task const& which,
                         std::shared_ptr<failure const> why) const noexcept {
  try {
    with_.shared.hosts.remove(which.task);
    with_.shared.ends.end(which.task, std::move(why));
  } catch (std::bad_alloc const&) {
    // There is no memory for the failure of the task, so the task cannot end.
    with_.shared.faults.note_out_of_memory();
  }
}

template bool host_submitter::submit(std::unique_ptr<detail::continuation>&, task_options const&,
                                     when_full, ticket*) const;
template bool host_submitter::submit(std::unique_ptr<detail::continuation>&,
                                     flow_task_options const&, when_full, ticket*) const;

}  // namespace flotilla::dispatch
