// Waiting, and helping meanwhile.
#include <algorithm>
#include <thread>

#include <flotilla/error.hpp>

#include "base/pause.hpp"
#include "dispatch/core.hpp"
#include "dispatch/lone_habit.hpp"
#include "dispatch/patience.hpp"

namespace flotilla::dispatch {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

}  // namespace

bool core::has_ended(task_id id) noexcept {
  slot& of = at(id.slot);
  auto const gone = [&] {
    return generation_word{of.generation.load(std::memory_order_acquire)}.generation() != id.generation;
  };
  if (gone()) { return true; }
  end_mark const end{of.end.load(std::memory_order_acquire)};
  if (end.launched() && devices_[end.device()]->page->number(end.lane()) >= end.number()) { return true; }
  // The mark may have been of a later task in the same slot; then this one is gone.
  return gone() || is_poisoned();
}

std::shared_ptr<failure const> core::result(task_id id) {
  task_state const state = look({id.slot, static_cast<std::uint32_t>(id.generation)});
  if (state.state == task_state::states::failed) { return state.why; }
  if (state.state == task_state::states::ended) { return nullptr; }
  return poison_failure();  // open or launched, and yet over: the driver is poisoned
}

bool core::ready(ticket const& of) {
  check_process();
  task_id const id = of.id();
  if (has_ended(id)) { return true; }
  if (!single_threaded() || callable_frame::innermost(*this) != nullptr) { return false; }
  static_cast<void>(pump());
  return has_ended(id);
}

bool core::wait(ticket const& of, std::optional<schedule> how, std::optional<clock::time_point> until) {
  check_process();
  task_id const id = of.id();
  bool const inside = callable_frame::innermost(*this) != nullptr;
  struct says_nothing_more {
    core& self;
    ~says_nothing_more() { self.say_waiting_for(0); }
  } const after{*this};
  patience waited{single_threaded()};
  auto const ended = [&] { return has_ended(id); };
  // A worker that looks out for work has the device's state, and the driver's, in its cache: to take the lease from
  // it costs more than to let it launch. It has some microseconds, unless it leaves such tasks to this thread.
  bool const mine = lone_habit::of_this_thread().waits(id_, id.slot, id.generation);
  std::optional<unsigned> first;
  auto const not_launched = [&] { return at(id.slot).end.load(std::memory_order_acquire) == 0; };
  for (int i = 0; i < 64 && !mine && workers_.looks_out() && not_launched() && !ended(); ++i) { base::pause(); }
  while (!ended()) {
    slot& task = at(id.slot);
    bool const launched = task.end.load(std::memory_order_acquire) != 0;
    bool helped = false;
    if (inside) { check_deadlock(id); }
    if (!launched || single_threaded()) {
      if (waited.time_to_mark()) {
        std::uint32_t const device = at(mark_wanted(id.slot)).device.load(std::memory_order_relaxed);
        first = device == 0 ? std::nullopt : std::optional{device - 1};
      }
      helped = help(waited.who(), first, ended);
    }
    if (ended()) { break; }
    if (single_threaded() && !inside) { helped = run_continuations() || helped; }
    if (until && clock::now() >= *until) { return false; }
    // A lane whose number the device could not be told to write is only seen by who asks.
    if (waited.time_to_ask()) { ask_all(); }
    if (helped) {
      waited.moved();
      continue;
    }
    schedule const like = resolved(how.value_or(schedule_of(task.device.load(std::memory_order_relaxed))));
    if (like == schedule::blocking && !until && sleep_until_ended(id)) { continue; }
    idle(like, waited.round(), until);
  }
  if (auto const why = result(id)) { std::rethrow_exception(why->error); }
  return true;
}

slot_address core::mark_wanted(slot_address task) noexcept {
  // The way to the task leads through those it is parked on. What is read may be out of date: then a
  // task is run by a helper that need not have been, and no harm is done.
  for (int steps = 0; steps < 1024; ++steps) {
    slot& of = at(task);
    if (of.wanted.load(std::memory_order_relaxed) == 0) { of.wanted.store(1, std::memory_order_relaxed); }
    std::uint32_t const ahead = of.parked_on.load(std::memory_order_relaxed);
    if (ahead == 0) { break; }
    task = ahead - 1;
  }
  return task;
}

bool core::drain_if_free(device_queue& queue, drainer who, std::function<bool()> const& stop) {
  std::optional<context::lease> held = queue.gate.try_take();
  if (!held) { return false; }
  second_look const after{*this, queue, held};
  return queue.drain(*held, who, stop);
}

bool core::collect_if_free(device_queue& queue) {
  std::optional<context::lease> held = queue.gate.try_take();
  if (!held) { return false; }
  second_look const after{*this, queue, held};
  return queue.retire();
}

device_counters core::counters(unsigned device) {
  // What ended after the last worker left has not been counted; who asks again and again would wait for ever.
  device_queue& queue = *devices_[device];
  if (queue.has_batches() && !queue.needs_drain() && !queue.gate.held()) { collect_if_free(queue); }
  return queue.counters();
}

core::second_look::~second_look() {
  held.reset();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in wake
  if (queue.needs_drain() || self.any_waits()) { self.workers_.wake(); }
}

bool core::help(drainer who, std::optional<unsigned> first, std::function<bool()> const& stop) {
  bool moved = false;
  auto const devices = static_cast<unsigned>(devices_.size());
  unsigned const begin = first.value_or(static_cast<unsigned>(who.helper % devices));
  for (unsigned i = 0; i < devices && !stop(); ++i) {
    device_queue& queue = *devices_[(begin + i) % devices];
    if (queue.gate.held_by_this_thread()) { continue; }  // a callable waits: its own device cannot be drained
    if (!queue.needs_drain() && !any_waits() && !queue.has_batches()) { continue; }
    moved = drain_if_free(queue, who, stop) || moved;
  }
  return moved;
}

void core::idle(schedule how, unsigned round, std::optional<clock::time_point> until) const {
  if (how == schedule::spin) {
    for (int i = 0; i < 16; ++i) { base::pause(); }
    // A CPU device computes on some processor: a thread that never lets go of one may be what it waits for.
    if (api().kind == device_kind::cpu && round % 16 == 0) { std::this_thread::yield(); }
    return;
  }
  // Where nothing moves for long, yielding is spinning by another name.
  if (how == schedule::yield && round < 2000) {
    std::this_thread::yield();
    return;
  }
  std::chrono::nanoseconds sleep = how == schedule::yield ? std::chrono::microseconds{50} : nap(round);
  if (until) { sleep = std::clamp<std::chrono::nanoseconds>(*until - clock::now(), std::chrono::nanoseconds{0}, sleep); }
  std::this_thread::sleep_for(sleep);
}

bool core::sleep_until_ended(task_id id) {
  // In single-threaded mode nobody else moves what is left to do: only with nothing left may the thread sleep.
  if (single_threaded() && something_left()) { return false; }
  end_mark const end{at(id.slot).end.load(std::memory_order_acquire)};
  if (!end.launched() || lane_plan::takes_work(end.lane())) { return false; }
  if (has_ended(id)) { return true; }
  device_queue& queue = *devices_[end.device()];
  note(queue.sleep_until_done(end.lane()), queue);
  // Not so where the driver refused, or the stream was not told to write the number: who asked again at once would spin.
  return has_ended(id);
}

bool core::something_else(device_queue const& queue) const noexcept {
  return continuations_due() || std::any_of(devices_.begin(), devices_.end(), [&](auto const& each) {
           return each.get() != &queue && ((each->needs_drain() && !each->gate.held()) || any_waits());
         });
}

bool core::something_left() const noexcept {
  return any_waits() || std::any_of(devices_.begin(), devices_.end(), [](auto const& each) { return each->needs_drain(); });
}

schedule core::resolved(schedule how) const noexcept {
  if (how != schedule::automatic) { return how; }
  static unsigned const processors = std::thread::hardware_concurrency();  // a system call, each time it is asked
  return dispatch::resolved(how, api().kind, context::live_contexts(), processors);
}

schedule core::schedule_of(std::uint32_t device) const noexcept {
  // While any device may take the task, it is waited for as for all of them.
  return device == 0 ? schedules_.together(resolved(schedule::automatic)) : *queue(device - 1).context.effective().schedule;
}

schedule core::schedule_of_busy(schedule automatic) const noexcept {
  schedules busy;
  for (auto const& each : devices_) {
    if (each->has_batches() || each->needs_drain()) { busy.add(*each->context.effective().schedule); }
  }
  return (busy.empty() ? schedules_ : busy).together(automatic);
}

bool core::pump() {
  check_process();
  for (auto const& each : devices_) {
    if (!each->gate.held_by_this_thread()) { drain_if_free(*each, drainer{}); }
  }
  bool open = false;
  if (callable_frame::innermost(*this) == nullptr && !continuations_->inside()) {
    // Who only pumps must learn of a fault too, or continuations of its tasks never come. Of a thread rather than a
    // runtime: it only keeps pumps in a row from asking each time.
    thread_local clock::time_point next_question{};
    if (continuations_->watching() && clock::now() > next_question) {
      ask_all();
      next_question = clock::now() + milliseconds{5};
    }
    run_continuations();
    open = has_continuations();
  }
  return open || (has_open_tasks() && !is_poisoned());
}

bool core::wait_until_idle(std::uint64_t epoch) {
  patience waited{single_threaded()};
  std::optional<slot_address> open;
  while (!is_poisoned()) {
    // All slots are read once, and again only when the open one that was found is not open any more.
    if (!open || !is_open_since(*open, epoch)) {
      open = find_open_since(epoch);
      if (!open) { return true; }
    }
    // A wait for everything needs everything: whoever's callables.
    if (help(drainer{}, std::nullopt, [] { return false; })) { waited.moved(); }
    if (run_continuations()) { waited.moved(); }  // a task that is open may need what one of them does
    if (waited.time_to_ask()) { ask_all(); }
    schedule const how = schedule_of_busy(resolved(schedule::automatic));
    // All that is open is on streams, and nothing comes of its ends that only this thread may do: it can sleep on one.
    if (how == schedule::blocking && !something_left() && !has_continuations()) {
      std::uint64_t const now = generation_word{at(*open).generation.load(std::memory_order_acquire)}.generation();
      task_id const first{this, *open, now};
      // One that has ended is open until it is collected, by who has the lease: no end to sleep until.
      if (!has_ended(first) && sleep_until_ended(first)) {
        waited.moved();
        continue;
      }
    }
    idle(how, waited.round());
  }
  return false;
}

void core::wait_idle() {
  check_process();
  if (callable_frame::innermost(*this) != nullptr) {
    throw would_deadlock("wait_idle inside a callable: this callable is a task that has not ended");
  }
  wait_until_idle(unused.close_epoch());
  while (run_continuations()) {}
}

std::optional<device_ordinal> core::device_of(task_id id, std::uint32_t& known) noexcept {
  std::atomic_ref<std::uint32_t> const remembered{known};  // const calls of one ticket may run at once
  std::uint32_t device = remembered.load(std::memory_order_relaxed);
  if (device == 0) {
    slot& of = at(id.slot);
    std::uint32_t const seen = of.device.load(std::memory_order_acquire);
    std::uint64_t const now = generation_word{of.generation.load(std::memory_order_acquire)}.generation();
    // Open, or ended and its slot not taken again: then the slot still says it.
    if (now == id.generation || now == id.generation + 1) {
      device = seen;
      remembered.store(seen, std::memory_order_relaxed);
    }
  }
  return device == 0 ? std::nullopt : std::optional{device_ordinal{device - 1}};
}

}  // namespace flotilla::dispatch
