// What a runtime does for continuations: watches tasks, runs what is due, waits for ends.
#include <algorithm>
#include <thread>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "dispatch/patience.hpp"

namespace flotilla::dispatch {

std::exception_ptr core::error_of(task_id id) {
  auto const why = result(id);
  return why == nullptr ? nullptr : why->error;
}

void core::end_watched(slot_address task, std::uint64_t generation, std::exception_ptr const& why) {
  continuations_->task_ended({task, generation}, why);
  workers_.wake_to_poll();
}

void core::watch(task_id id, std::shared_ptr<completion_state> const& of) {
  continuations::key const task{id.slot, id.generation};
  continuations_->watch(task, of);
  std::atomic<std::uint64_t>& generation = at(id.slot).generation;
  std::uint64_t word = generation.load(std::memory_order_acquire);
  while (true) {
    generation_word const now{word};
    if (now.generation() != id.generation) {  // it ended before it could see that it is watched
      end_watched(task.slot, task.generation, error_of(id));
      break;
    }
    // acq_rel: pairs with the exchange in `end` and `end_well`, which then finds the entry
    if (now.watched() ||
        generation.compare_exchange_weak(word, word | generation_word::watched_bit, std::memory_order_acq_rel)) {
      break;
    }
  }
  workers_.wake_to_poll();
}

std::shared_ptr<completion_state> core::continue_after(task_id id, std::unique_ptr<detail::continuation> what) {
  check_process();
  auto const made = std::make_shared<completion_state>(continuations_);
  made->callable = std::move(what);
  // Held by this frame: as soon as the task is watched, the ticket and even the runtime may be gone but for `here`.
  std::shared_ptr<continuations> const kept = continuations_;
  continuations::use const here{*kept};
  if (here.over()) {
    made->error = error_of(id);
    continuations::run(made);
  } else {
    watch(id, made);
  }
  return made;
}

std::shared_ptr<completion_state> core::gather(std::span<ticket const> tickets) {
  check_process();
  auto const made = std::make_shared<completion_state>(continuations_);
  made->left = tickets.size();
  continuations::use const here{*continuations_};
  for (ticket const& each : tickets) {
    if (here.over()) {
      continuations_->arrived(made, error_of(each.id()));
    } else {
      watch(each.id(), made);
    }
  }
  return made;
}

std::shared_ptr<completion_state> core::continue_after(std::shared_ptr<completion_state> const& on,
                                                       std::unique_ptr<detail::continuation> what) {
  std::shared_ptr<continuations> const kept = on->table;
  auto const made = std::make_shared<completion_state>(kept);
  made->callable = std::move(what);
  if (kept == nullptr) {
    continuations::run(made);  // behind nothing
    return made;
  }
  continuations::use const here{*kept};
  if (!here.over()) { kept->owner->check_process(); }
  on->asked.store(true, std::memory_order_relaxed);
  if (kept->depend(on, made)) { return made; }
  if (here.over()) {
    made->error = on->error;
    continuations::run(made);
  } else {
    kept->arrived(made, on->error);
    kept->owner->workers_.wake_to_poll();
  }
  return made;
}

bool core::run_continuations() {
  if (continuations_->watching() && is_poisoned()) {
    continuations_->end_all([this](continuations::key const& task) {
      return error_of({this, task.slot, task.generation});
    });
  }
  bool const ran = continuations_->run_due();
  if (continuations_->any_due()) { workers_.wake_to_poll(); }  // this thread may be off to other things
  return ran;
}

bool core::continuations_due() const noexcept {
  return continuations_->any_due() || (is_poisoned() && continuations_->watching());
}

bool core::has_continuations() const noexcept { return continuations_->watching() || continuations_->any_due(); }

bool core::collect_watched() {
  bool moved = false;
  for (auto const& each : devices_) {
    if (each->has_batches() && !each->gate.held()) { moved = collect_if_free(*each) || moved; }
  }
  return moved;
}

void core::idle_polling(unsigned round) {
  // Nobody waits: only a device that is set to spin is looked at without a pause.
  idle(of_worker(schedule_of_busy(schedule::yield), api().kind), round);
}

void core::end_continuations() noexcept {
  for (unsigned round = 1;; ++round) {
    // A continuation that runs may have submitted a task just before the runtime closed: only what was seen to be at
    // rest before and after the wait is at rest.
    std::uint64_t const before = continuations_->uses();
    bool const rests = continuations_->users() == 0;
    wait_until_idle(unused.close_epoch());
    bool ran = false;
    while (run_continuations()) { ran = true; }
    if (ran) {
      round = 0;
      continue;
    }
    if (rests && continuations_->uses() == before && continuations_->end()) { return; }
    std::this_thread::sleep_for(nap(round));  // one runs on another thread: user code, which can take any time
  }
}

bool core::wait(completion_state const& of, std::optional<std::chrono::steady_clock::time_point> until) {
  using clock = std::chrono::steady_clock;
  auto const come = [&] { return of.done.load(std::memory_order_acquire); };
  check_process();
  if (!come() && (callable_frame::innermost(*this) != nullptr || continuations_->inside())) {
    throw would_deadlock("a wait for a completion inside a callable or a continuation, either of which may be what it "
                         "waits for: use `then` or co_await there");
  }
  patience waited{single_threaded()};
  while (!come()) {
    bool helped = run_continuations();
    if (come()) { break; }
    helped = help(waited.who(), std::nullopt, come) || helped;
    if (come()) { break; }
    if (until && clock::now() >= *until) { return false; }
    if (waited.time_to_ask()) { ask_all(); }
    if (helped) {
      waited.moved();
    } else {
      idle(schedule_of_busy(resolved(schedule::automatic)), waited.round(), until);
    }
  }
  return true;
}

void core::pump_for_ready() {
  check_process();
  if (single_threaded() && callable_frame::innermost(*this) == nullptr) { static_cast<void>(pump()); }
}

std::optional<std::size_t> core::wait_any(std::span<ticket const> of,
                                          std::optional<std::chrono::steady_clock::time_point> until) {
  using clock = std::chrono::steady_clock;
  check_process();
  std::size_t first = 0;
  auto const ended = [&] {
    auto const found = std::find_if(of.begin(), of.end(), [this](ticket const& each) { return has_ended(each.id()); });
    first = static_cast<std::size_t>(found - of.begin());
    return found != of.end();
  };
  patience waited{single_threaded()};
  while (!ended()) {
    if (callable_frame::innermost(*this) != nullptr) {
      throw would_deadlock("a wait for the first of several tasks inside a callable, which may be what they wait for");
    }
    schedules how;
    bool open = false;
    bool const mark = waited.time_to_mark();
    for (ticket const& each : of) {
      slot& task = at(each.id().slot);
      how.add(schedule_of(task.device.load(std::memory_order_relaxed)));
      if (task.end.load(std::memory_order_acquire) != 0) { continue; }
      open = true;
      if (mark) { static_cast<void>(mark_wanted(each.id().slot)); }
    }
    bool const helped = (open || single_threaded()) && help(waited.who(), std::nullopt, ended);
    if (ended()) { break; }
    if (single_threaded()) { run_continuations(); }
    if (until && clock::now() >= *until) { return std::nullopt; }
    if (waited.time_to_ask()) { ask_all(); }
    if (helped) {
      waited.moved();
    } else {
      idle(how.together(resolved(schedule::automatic)), waited.round(), until);
    }
  }
  return first;
}

}  // namespace flotilla::dispatch
